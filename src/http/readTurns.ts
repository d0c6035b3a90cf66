import type { Readable } from 'node:stream';

/** Paused streams that are resumed in one turn of the event loop; each then reads 64 KiB at most. */
const READS_PER_TURN = 8;
/** Bytes of a stream after which it is paused. */
const PAUSE_BYTES = 64 * 1024;
/** What a chunk of fewer bytes counts of what is discarded: a read of 64 KiB can hold 11,000, and Node makes objects for each. */
const TINY = { bytes: 16, counts: 16 * 1024 } as const;

/**
 * The paused streams of a server, which are resumed a few in each turn. Two hundred large bodies that arrive at the same time would
 * fill a turn, and a camera's request takes several turns.
 */
export class ReadTurns {
  readonly #paused = new Set<Readable>();
  readonly #taken = new WeakMap<Readable, number>();

  /** Counts a chunk. Pauses its stream after PAUSE_BYTES, and resumes it in one of the next turns. @returns the bytes that the chunk counts. */
  take(stream: Readable, bytes: number): number {
    const taken = (this.#taken.get(stream) ?? 0) + bytes;
    this.#taken.set(stream, taken % PAUSE_BYTES);
    if (taken >= PAUSE_BYTES) {
      stream.pause();
      if (this.#paused.size === 0) setImmediate(() => this.#run());
      this.#paused.add(stream);
    }
    return bytes < TINY.bytes ? TINY.counts : bytes;
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
