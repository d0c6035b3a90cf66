import { spawn } from 'node:child_process';
import net from 'node:net';
import path from 'node:path';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { CHUNK_LIMITS, seqOf } from '../log/chunk.ts';
import { LineFault, splitLines } from '../log/logLines.ts';
import type { LogHead } from './serveLog.ts';

/** The log of this box cannot be read now, or has ended; it may be readable again in a moment. */
export class LogUnavailable extends OperatorError {}

/** The next events of the log. */
export interface Piece {
  /** As `tail --json` writes them, with their line ends; at least one. */
  readonly lines: readonly string[];
  /** The seq of the last event. */
  readonly last: number;
  /** Whether no later event is stored, as far as is known. */
  readonly isLast: boolean;
}

/** The lines of serveLog, and how to answer and to end it. */
export interface Feed {
  readonly lines: AsyncIterator<readonly string[]>;
  answer(text: string): void;
  close(): void;
}

/** The log of a box, as a shipper reads it. */
export class BoxLog {
  readonly head: LogHead;
  readonly #feed: Feed;
  readonly #lines: string[] = [];
  /** Whether the feed has said that there is no more behind #lines. */
  #isAtEnd = false;
  #reading: Promise<IteratorResult<readonly string[]>> | undefined;

  private constructor(feed: Feed, head: LogHead) {
    this.#feed = feed;
    this.head = head;
  }

  /** @throws {LogUnavailable} */
  static async open(feed: Feed): Promise<BoxLog> {
    try {
      const { value, done } = await readable(feed.lines.next());
      const head = membersOf(done ? '' : value[0]!);
      if (!Array.isArray(head.epochs) || head.epochs.length === 0)
        throw new LogUnavailable(
          'The log of this box cannot be read. Look for the messages of "courtd tail", such as with "journalctl -u courtd-feed@*".',
        );
      return new BoxLog(feed, head as unknown as LogHead);
    } catch (error) {
      feed.close();
      throw error;
    }
  }

  /** Asks for the events behind a seq; once, before `next`. */
  start(after: number): void {
    this.#feed.answer(`${after}\n`);
  }

  /**
   * @param gatherMs how long to wait for a chunk to fill. @param waitMs how long to wait for its first event.
   * @returns a chunk of events; undefined if none came in time.
   * @throws {LogUnavailable}
   */
  async next(gatherMs: number, waitMs: number, signal: AbortSignal): Promise<Piece | undefined> {
    const startedAt = performance.now();
    const lines: string[] = [];
    let [bytes, firstAt] = [0, startedAt];
    for (;;) {
      while (this.#lines.length > 0) {
        const [line] = this.#lines as [string];
        const size = Buffer.byteLength(line);
        const isFull = lines.length === CHUNK_LIMITS.events || bytes + size > CHUNK_LIMITS.bytes;
        if (isFull && lines.length > 0) return this.#piece(lines);
        if (lines.length === 0) firstAt = performance.now();
        lines.push(line);
        bytes += size;
        this.#lines.shift();
      }
      const until = lines.length > 0 ? firstAt + gatherMs : startedAt + waitMs;
      const leftMs = this.#isAtEnd ? until - performance.now() : Number.POSITIVE_INFINITY;
      if (signal.aborted || leftMs <= 0) return lines.length > 0 ? this.#piece(lines) : undefined;
      await this.#read(leftMs, signal);
    }
  }

  close(): void {
    this.#feed.close();
  }

  #piece(lines: string[]): Piece {
    return { lines, last: seqOf(lines.at(-1)!), isLast: this.#isAtEnd && this.#lines.length === 0 };
  }

  /** Reads more, unless nothing comes in time. */
  async #read(timeoutMs: number, signal: AbortSignal): Promise<void> {
    this.#reading ??= readable(this.#feed.lines.next());
    const timer = new AbortController();
    // Without a timeout only the signal ends the wait.
    const timeout = pause(Math.min(timeoutMs, 2 ** 31 - 1), AbortSignal.any([signal, timer.signal]));
    const result = await Promise.race([this.#reading, timeout]);
    timer.abort();
    if (!result) return;
    this.#reading = undefined;
    if (result.done)
      throw new LogUnavailable(
        'The log of this box has ended: a backup was restored, or its feed was stopped.',
      );
    for (const line of result.value) {
      this.#isAtEnd = line === '\n';
      if (!this.#isAtEnd) this.#lines.push(line);
    }
  }
}

/** @throws {LogUnavailable} in the place of what the other end, or its connection, has done. */
async function readable<Result>(reading: Promise<Result>): Promise<Result> {
  return reading.catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof OperatorError || error instanceof LineFault || code !== undefined)
      throw new LogUnavailable(`The log of this box cannot be read: ${message}.`);
    throw error;
  });
}

/** @returns the feed behind a socket: that of courtd-feed.socket. */
export function socketFeed(file: string): Feed {
  const socket = net.connect(file);
  return {
    lines: splitLines(socket, () => {}),
    answer: (text) => void socket.write(text),
    close: () => void socket.destroy(),
  };
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
    lines: splitLines(child.stdout, () => {}),
    answer: (text) => void child.stdin.write(text),
    // It ends when its standard input does, or a line cannot be written.
    close: () => {
      child.stdin.destroy();
      child.stdout.destroy();
    },
  };
}
