import type { Readable } from 'node:stream';

/** Paused streams that are resumed in one turn of the event loop; each then reads 64 KiB at most. */
const READS_PER_TURN = 8;
/** Bytes of a stream after which it is paused. */
const PAUSE_BYTES = 64 * 1024;
/** A body is cut off if its chunks are smaller than this on average, or that many of those discarded are: Node makes objects for each. */
export const TINY_CHUNKS = { bytes: 16, count: 4_096 } as const;

/**
 * The paused streams of a server, which are resumed a few in each turn. Two hundred large bodies that arrive at the same time would
 * fill a turn, and a camera's request takes several turns.
 */
export class ReadTurns {
  readonly #paused = new Set<Readable>();
  readonly #taken = new WeakMap<Readable, number>();

  /** Counts a chunk. Pauses its stream after PAUSE_BYTES, and resumes it in one of the next turns. */
  take(stream: Readable, bytes: number): void {
    const taken = (this.#taken.get(stream) ?? 0) + bytes;
    this.#taken.set(stream, taken % PAUSE_BYTES);
    if (taken < PAUSE_BYTES) return;
    stream.pause();
    if (this.#paused.size === 0) setImmediate(() => this.#run());
    this.#paused.add(stream);
  }

  #run(): void {
    let left = READS_PER_TURN;
    for (const stream of this.#paused) {
      if (left-- === 0) break;
      this.#paused.delete(stream);
      stream.resume();
    }
    if (this.#paused.size > 0) setImmediate(() => this.#run());
  }
}
