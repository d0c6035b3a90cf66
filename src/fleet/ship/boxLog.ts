import { spawn } from 'node:child_process';
import net from 'node:net';
import path from 'node:path';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { splitLines } from '../../base/splitLines.ts';
import { CHUNK_END, type LogHead } from './serveLog.ts';

/** The log of this box cannot be read now, or has ended; it may be readable again in a moment. */
export class LogUnavailable extends OperatorError {}

/** The next events of the log; none if none came for a while. */
interface Piece {
  /** As `tail --json` writes them, with their line ends. */
  readonly lines: readonly string[];
  /** Whether no later event is stored, as far as is known. */
  readonly isLast: boolean;
}

/** What serveLog writes, and how to answer and to end it. */
export interface Feed {
  readonly bytes: AsyncIterable<Buffer>;
  answer(text: string): void;
  close(): void;
}

/** The log of a box, as a shipper reads it: `pieces` yields the events behind a seq, without end; call it once. */
export type BoxLog = Awaited<ReturnType<typeof openLog>>;

/** @throws {LogUnavailable} */
export async function openLog(feed: Feed) {
  const lines = linesOf(feed);
  try {
    const { value } = await lines.next();
    const head = membersOf(value ?? '') as unknown as LogHead;
    if (Array.isArray(head.epochs) && head.epochs.length > 0)
      return { head, pieces: (after: number) => piecesOf(feed, lines, after), close: () => feed.close() };
    throw new LogUnavailable(
      'The log of this box cannot be read. Look for the messages of "courtd tail", such as with "journalctl -u courtd-feed@*".',
    );
  } catch (error) {
    feed.close();
    throw error;
  }
}

async function* piecesOf(feed: Feed, all: AsyncIterable<string>, after: number): AsyncGenerator<Piece> {
  feed.answer(`${after}\n`);
  let lines: string[] = [];
  for await (const line of all) {
    const isLast = line === CHUNK_END.none;
    if (isLast || line === CHUNK_END.more) {
      yield { lines, isLast };
      lines = [];
    } else lines.push(`${line}\n`);
  }
  throw new LogUnavailable('The log of this box has ended: a backup was restored, or its feed was stopped.');
}

async function* linesOf({ bytes }: Feed): AsyncGenerator<string> {
  try {
    for await (const line of splitLines(bytes)) if (line.hasEnd) yield line.bytes.toString();
  } catch (error) {
    throw new LogUnavailable(`The log of this box cannot be read: ${(error as Error).message}.`);
  }
}

/** @returns the feed behind a socket: that of courtd-feed.socket. */
export function socketFeed(file: string): Feed {
  const bytes = net.connect(file);
  return { bytes, answer: (text) => void bytes.write(text), close: () => void bytes.destroy() };
}

/** Compiled in the package. */
const MAIN = path.resolve(import.meta.dirname, `../../main${path.extname(import.meta.filename)}`);

/** @returns the feed of a data directory, from a process of its own. */
export function childFeed(directory: DataDirectory): Feed {
  const args = [MAIN, 'tail', '--json', '--follow', '--after', '-', '--data', directory.path];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  child.on('error', () => {});
  return {
    bytes: child.stdout,
    answer: (text) => void child.stdin.write(text),
    // It ends when its standard input does, or a line cannot be written.
    close: () => {
      child.stdin.destroy();
      child.stdout.destroy();
    },
  };
}
