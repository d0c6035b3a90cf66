import { once } from 'node:events';
import fs from 'node:fs';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import type { Sink } from '../../base/sink.ts';
import { counted } from '../../base/units.ts';
import { shellWord, visible, visibleLines } from '../../base/visibleText.ts';
import { canvasOf, lengthOf, padded, visibleStyled } from './style.ts';

/**
 * Data goes to standard output, messages go to standard error: a script reads the one and a person sees the other. Nobody else
 * writes to them, so that no name, sentence or answer reaches a terminal unescaped, wherever it comes from: a camera, a database
 * that was restored, or anything that answers at control.sock. Words for people are always escaped; data only on a terminal.
 */

/** A command that a sentence names, of those that take `--data`, and not of a process that runs. */
const NAMED =
  /(?<!Another |or a )"((?:sudo )?courtd (?!help|fleet|openapi|simulate|conformance|[^"]*--help)[^"]+)"/g;

/** What commands that sentences name have at their end: the data directory, if the reader has given one. */
export const hints = {
  data: undefined as string | undefined,

  complete(text: string): string {
    const { data } = hints;
    if (data === undefined) return text;
    return text.replace(NAMED, (_, command) => `"${command} --data ${shellWord(data)}"`);
  },
};

export interface JsonOption {
  readonly json?: boolean;
}

export function printJson(value: unknown): void {
  printData(`${JSON.stringify(value, null, 2)}\n`);
}

/** Prints data unchanged, except that a terminal does not receive control characters. */
export function printData(data: string | Uint8Array): void {
  progress.clear();
  process.stdout.write(typeof data === 'string' ? forStdout(data) : data);
}

export function stdoutSink(): Sink {
  return {
    write: async (data) => {
      const shown = typeof data === 'string' ? forStdout(data) : data;
      if (!process.stdout.write(shown)) await once(process.stdout, 'drain');
    },
    commit: () => {},
  };
}

/** Prints words for people on standard output, in the colours that `styled` gave them. */
export function printText(text: string): void {
  progress.clear();
  process.stdout.write(visibleStyled(text, canvasOf(process.stdout)));
}

const CLEAR_LINE = '\x1b[K';

export function clearScreen(): void {
  process.stdout.write('\x1b[2J\x1b[H');
}

/** Writes before it returns. @throws {OperatorError} if standard output cannot be written to. */
export function printNow(text: string): void {
  try {
    fs.writeSync(process.stdout.fd, text);
  } catch (error) {
    throw new OperatorError(cannotWrite('standard output', error as NodeJS.ErrnoException));
  }
}

/** Prints a message, on standard error. */
export function say(sentence: string): void {
  progress.clear();
  process.stderr.write(`${visibleLines(hints.complete(sentence))}\n`);
}

/** A reader may close standard output at any time (`| head`): that is no failure. A closed standard error stops no work. */
export function endQuietlyOnBrokenPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    say(`courtd: ${cannotWrite('standard output', error)}`);
    process.exit(1);
  });
  process.stderr.on('error', () => {});
}

/** Ends the process once everything is printed, whatever still runs: what hangs with a disk would keep it. */
export function exitWhenPrinted(status = process.exitCode): void {
  process.stdout.write('', (error) => {
    // If printing failed, endQuietlyOnBrokenPipe ends the process with the right status.
    if (error == null) process.exit(status);
  });
}

export type Cells = readonly (string | number)[];

/** @returns a function that formats a row; each column is as wide as its widest cell in `rows`, and numbers are right-aligned. */
export function tableLine(rows: readonly Cells[]): (cells: Cells) => string {
  const text = (cell: string | number) => (typeof cell === 'number' ? `${cell}` : visible(cell));
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => lengthOf(text(row[i]!)))));
  return (cells) =>
    cells
      .map((cell, i) => padded(text(cell), widths[i]!, typeof cell === 'number'))
      .join('  ')
      .trimEnd();
}

/** Prints at most a few thousand rows below their headings. */
export function printTable(headings: Cells, rows: readonly Cells[]): void {
  const all = [headings, ...rows];
  printText(`${all.map(tableLine(all)).join('\n')}\n`);
}

/** @returns one label and its value a line. */
export function pairsText(pairs: readonly (readonly [label: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([label]) => label.length));
  return pairs.map(([label, value]) => `  ${label.padEnd(width)}  ${visible(value)}\n`).join('');
}

/** The progress of long work: one line on standard error, if that is a terminal, until something else is printed. */
export const progress = {
  shownAt: performance.now(),
  isShown: false,

  /** Shows `text` at most twice a second, and nothing for short work. */
  show(text: () => string): void {
    if (process.stderr.isTTY !== true || performance.now() - progress.shownAt < 500) return;
    progress.shownAt = performance.now();
    progress.isShown = true;
    process.stderr.write(`\r${CLEAR_LINE}${visible(text())}`);
  },

  clear(): void {
    if (progress.isShown) process.stderr.write(`\r${CLEAR_LINE}`);
    progress.isShown = false;
  },

  say,
};

/** Shows how far the daemon is with its work. */
export function showWork(events: number): void {
  progress.show(() => counted(events, 'event'));
}

/** @returns data as standard output takes it: a terminal would obey control characters. */
function forStdout(lines: string): string {
  return process.stdout.isTTY ? visibleLines(lines) : lines;
}
