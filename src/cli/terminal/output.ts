import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { fsync, partialNameOf } from '../../base/atomicFile.ts';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { visible, visibleLines } from '../../base/visibleText.ts';

/** Data goes to standard output, words for people to standard error (design 3). */

export interface JsonOption {
  readonly json?: boolean;
}

export function printJson(value: unknown): void {
  printData(`${JSON.stringify(value, null, 2)}\n`);
}

/** Data for programs, as it is; a terminal alone gets it without what it would obey. */
export function printData(lines: string): void {
  process.stdout.write(forStdout(lines));
}

/** Prints a text before it returns. @throws {OperatorError} where standard output does not take it. */
export function printNow(text: string): void {
  try {
    fs.writeSync(process.stdout.fd, text);
  } catch (error) {
    throw new OperatorError(cannotWrite('standard output', error as NodeJS.ErrnoException));
  }
}

export function say(sentence: string): void {
  process.stderr.write(`${visibleLines(sentence)}\n`);
}

/** Whoever reads our data may stop at any time (`| head`): that is no failure. Words that nobody takes stop no work. */
export function endQuietlyOnBrokenPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    say(`courtd: ${cannotWrite('standard output', error)}`);
    process.exit(1);
  });
  process.stderr.on('error', () => {});
}

export type Cells = readonly (string | number)[];

/** @returns how a row is written, with columns as wide as the widest cell of some rows, numbers to the right. */
export function tableLine(rows: readonly Cells[]): (cells: Cells) => string {
  const text = (cell: string | number) => (typeof cell === 'number' ? `${cell}` : visible(cell));
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => text(row[i]!).length)));
  return (cells) =>
    cells
      .map((cell, i) =>
        typeof cell === 'number' ? text(cell).padStart(widths[i]!) : text(cell).padEnd(widths[i]!),
      )
      .join('  ')
      .trimEnd();
}

/** Prints rows under headings; not more than some thousand. */
export function printTable(headings: Cells, rows: readonly Cells[]): void {
  const all = [headings, ...rows];
  process.stdout.write(`${all.map(tableLine(all)).join('\n')}\n`);
}

/** Prints one thing a line: what it is, and its value. */
export function printPairs(pairs: readonly (readonly [what: string, value: string])[]): void {
  const width = Math.max(...pairs.map(([what]) => what.length));
  process.stdout.write(pairs.map(([what, value]) => `  ${what.padEnd(width)}  ${visible(value)}\n`).join(''));
}

/** @returns an ISO 8601 time in UTC, or null for none. */
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** @returns a number of things for people: "1 event", "2 events". */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** @returns bytes for people. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** How much of a long piece of work is done, on standard error where that is a terminal. */
export class Progress {
  readonly #isShown = process.stderr.isTTY === true;
  #shownAt = performance.now();
  #wasShown = false;

  /** Shows `text` at most twice a second, and not at all for short work. */
  show(text: () => string): void {
    if (!this.#isShown || performance.now() - this.#shownAt < 500) return;
    this.#shownAt = performance.now();
    this.#wasShown = true;
    process.stderr.write(`\r\x1b[K${text()}`);
  }

  clear(): void {
    if (this.#wasShown) process.stderr.write('\r\x1b[K');
  }
}

const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Where an export goes. */
export interface Sink {
  write(text: string): Promise<void>;
  /** Makes it whole: call it after the last write. */
  commit(): void;
  /** Whether a file was there that it takes the place of. */
  readonly replaces?: boolean;
}

export function stdoutSink(): Sink {
  return {
    write: (text) => writeTo(process.stdout, forStdout(text)),
    commit: () => {},
  };
}

/**
 * Writes aside, fsyncs and renames, so that a file of this name is always complete. However the process ends before
 * `commit`, nothing half-written stays; only SIGKILL leaves the file aside.
 * Root does so as root, whoever it is in the data directory.
 * @throws {OperatorError} from each step: why the file cannot be written.
 */
export function fileSink(name: string): Sink {
  const isLink = refuseForeignLink(name);
  const existing = telling(name, () => fs.statSync(name, { throwIfNoEntry: false }));
  if (existing?.isDirectory()) throw new OperatorError(`${name} is a directory: name a file in it.`);
  // A device or a pipe cannot be replaced, only written to.
  const isSpecial = existing !== undefined && !existing.isFile();
  // Behind a link, or the link would be replaced: /dev/stdout is one. One that comes in the place of a file meanwhile is.
  const file = existing !== undefined && isLink ? telling(name, () => fs.realpathSync(name)) : name;
  const partial = isSpecial ? name : partialNameOf(file);
  let isOpen = false;
  const remove = () => asCaller(() => isOpen && fs.rmSync(partial, { force: true }));
  const calledOff = isSpecial ? () => {} : atEnd(remove);
  // No link that somebody has put there meanwhile, and no file of his.
  const how = isSpecial ? O_WRONLY | (isLink ? 0 : O_NOFOLLOW) : O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const fd = telling(name, () => {
    if (!isSpecial) fs.rmSync(partial, { force: true });
    return fs.openSync(partial, how);
  });
  isOpen = true;
  return {
    replaces: existing?.isFile() === true,
    write: async (text) => {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; ) at += telling(name, () => fs.writeSync(fd, bytes, at));
      // Signals are seen between the turns of the event loop.
      await setImmediate();
    },
    commit: () => {
      if (isSpecial) return fs.closeSync(fd);
      telling(name, () => {
        fs.fsyncSync(fd);
        fs.closeSync(fd);
        fs.renameSync(partial, file);
        calledOff();
        fsync(path.dirname(file));
      });
    },
  };
}

/** Makes a directory in one that is there. @throws {OperatorError} why it cannot be. */
export function makeDirectory(place: string): void {
  refuseForeignLink(path.dirname(place));
  telling(place, () => fs.mkdirSync(place));
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;

/**
 * A link of another user's, also one to a directory above, would have whoever follows it write where that user may not.
 * @returns whether the file itself is a link.
 */
function refuseForeignLink(name: string): boolean {
  const above = path.dirname(name);
  if (above !== name) refuseForeignLink(above);
  const stat = telling(name, () => fs.lstatSync(name, { throwIfNoEntry: false }));
  if (stat?.isSymbolicLink() !== true) return false;
  if (![0, process.getuid?.()].includes(stat.uid)) {
    throw new OperatorError(
      `${name} is a link of another user's: remove it, or name what it leads to with -o.`,
    );
  }
  return true;
}

/** Does something before the process ends, by itself or by a signal. @returns what calls that off. */
export function atEnd(work: () => void): () => void {
  const end = () => {
    try {
      work();
    } catch {
      // Such as in a directory that is closed to us: why this process ends has been told.
    }
  };
  const stop = (signal: NodeJS.Signals) => {
    end();
    // Handled once: this time it ends the process, as whoever sent it expects.
    process.kill(process.pid, signal);
  };
  process.once('exit', end);
  for (const signal of END_SIGNALS) process.once(signal, stop);
  return () => {
    process.off('exit', end);
    for (const signal of END_SIGNALS) process.off(signal, stop);
  };
}

function telling<Result>(file: string, work: () => Result): Result {
  try {
    return asCaller(work);
  } catch (error) {
    throw new OperatorError(
      `${cannotWrite(file, error as NodeJS.ErrnoException)} Mend that, or choose another place with -o.`,
    );
  }
}

function forStdout(lines: string): string {
  return process.stdout.isTTY ? visibleLines(lines) : lines;
}

async function writeTo(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}
