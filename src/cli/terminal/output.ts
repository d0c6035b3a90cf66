import { once } from 'node:events';
import fs from 'node:fs';
import { fileSink, type Sink } from '../../base/atomicFile.ts';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { shellWord, visible, visibleLines } from '../../base/visibleText.ts';
import { canvasOf, cut, lengthOf, padded, visibleStyled } from './style.ts';

/**
 * Data goes to standard output, messages go to standard error: a script reads the one and a person sees the other. No other file
 * writes to them, so that no name, sentence or answer reaches a terminal unescaped, wherever it comes from: a camera, a database
 * that was restored, or anything that answers at control.sock. Words for people are always escaped; data only on a terminal.
 */

/** A command that a sentence names, of those that take `--data`, and not of a process that runs. */
const NAMED =
  /(?<!Another )"((?:sudo )?courtd (?!serve" or "courtd restore|restore" is|help|fleet|openapi|simulate|conformance|[^"]*--help)[^"]+)"/g;

/** The end of commands that sentences name: the data directory, if the reader has given one. */
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

/** @param file the value of `-o`; undefined: standard output. */
export function outputSink(file: string | undefined): Sink {
  return file === undefined ? stdoutSink() : fileSink(file);
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

/** Ends the process once everything is printed: work that hangs with a disk would keep it. */
export function exitWhenPrinted(status = process.exitCode): void {
  process.stdout.write('', (error) => {
    // If printing failed, endQuietlyOnBrokenPipe ends the process with the right status.
    if (error == null) process.exit(status);
  });
}

export type Cells = readonly (string | number)[];

/** The least width of the widest column of a table that is wider than its terminal. */
const WIDTH_LEAST = 24;

/**
 * @param columns of a terminal: the widest cells are cut to fit it, because an id may be as long as a body.
 * @returns a line per row; each column is as wide as its widest cell, and numbers are right-aligned.
 */
export function tableLines(rows: readonly Cells[], columns = Number.POSITIVE_INFINITY): string[] {
  const texts = rows.map((row) => row.map((cell) => visible(`${cell}`)));
  const widths = (rows[0] ?? []).map((_, i) =>
    texts.reduce((most, row) => Math.max(most, lengthOf(row[i]!)), 0),
  );
  const widest = widths.indexOf(Math.max(...widths));
  const others = widths.reduce((sum, width) => sum + width + 2, -2) - widths[widest]!;
  widths[widest] = Math.min(widths[widest]!, Math.max(WIDTH_LEAST, columns - others));
  const cell = (text: string, width: number, value: unknown) =>
    padded(cut(text, width), width, typeof value === 'number');
  return texts.map((row, n) =>
    row
      .map((text, i) => cell(text, widths[i]!, rows[n]![i]))
      .join('  ')
      .trimEnd(),
  );
}

export function printTable(headings: Cells, rows: readonly Cells[]): void {
  const { columns } = canvasOf(process.stdout);
  printText(`${tableLines([headings, ...rows], columns).join('\n')}\n`);
}

/** Prints a list of objects with the same members: a JSON array, or a table. @param none is said instead of an empty table. */
export function printList(list: readonly object[], { json }: JsonOption, none: string): void {
  if (json) return printJson(list);
  if (list.length === 0) return say(none);
  const rows = list.map((one): Cells => Object.values(one).map((value) => value ?? '-'));
  printTable(Object.keys(list[0]!), rows);
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
