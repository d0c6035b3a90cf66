import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { END_SIGNALS } from '../../base/signals.ts';
import { forStdout } from './output.ts';

/** What a pipe takes whole or not at all (POSIX, PIPE_BUF; pipe(7): 4096 on Linux). */
const ATOMIC_BYTES = 4_096;
/** The buffer where standard output is not a pipe: fewer system calls. */
const PIECE_BYTES = 64 * 1024;
/** How long a line of which a part has been taken is waited for, after a signal. */
const LAST_LINE_MS = 1_000;

/**
 * Whole lines on standard output, for as long as somebody takes them. A signal ends the process between two of them: each write is
 * of whole lines that a pipe takes at once or not at all, or of one longer line, and only one is under way at a time.
 */
export class LineOutput {
  readonly #isPipe = fs.fstatSync(process.stdout.fd).isFIFO();
  readonly #pieceBytes = this.#isPipe ? ATOMIC_BYTES : PIECE_BYTES;
  /** A write that was not taken yet: whether a part of it may have been. */
  #waiting: { readonly mayBeHalf: boolean; readonly taken: Promise<void> } | undefined;

  /** From now on signals end the process as said. */
  constructor() {
    for (const signal of END_SIGNALS) process.once(signal, () => void this.#end(signal));
  }

  /** @param lines each with its line end. */
  async write(lines: Iterable<string>): Promise<void> {
    let [piece, bytes] = ['', 0];
    for (const text of lines) {
      const line = forStdout(text);
      const lineBytes = Buffer.byteLength(line);
      if (bytes > 0 && bytes + lineBytes > this.#pieceBytes) {
        await this.#put(piece, bytes);
        [piece, bytes] = ['', 0];
      }
      piece += line;
      bytes += lineBytes;
    }
    if (bytes > 0) await this.#put(piece, bytes);
    // Signals are seen between the turns of the event loop.
    await setImmediate();
  }

  async #put(piece: string, bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    process.stdout.write(piece, () => resolve());
    if (process.stdout.writableLength === 0) return;
    this.#waiting = { mayBeHalf: !this.#isPipe || bytes > ATOMIC_BYTES, taken: promise };
    await promise;
    this.#waiting = undefined;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const end = () => process.kill(process.pid, signal);
    if (this.#waiting?.mayBeHalf !== true) return void end();
    setTimeout(end, LAST_LINE_MS);
    await this.#waiting.taken;
    end();
  }
}
