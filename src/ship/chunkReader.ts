import { pause } from '../base/pause.ts';
import { CHUNK_LIMITS, type EventFeed, type Piece } from './feed/eventFeed.ts';

/** A chunk is sent when it is full, or when its first event has waited this long. */
const GATHER_MS = 2_000;
/** How often the log is read while nothing new comes. */
const POLL_MS = 500;

export class ChunkReader {
  readonly #feed: EventFeed;
  readonly #signal: AbortSignal;
  /** Events of a chunk: fewer, while one that headquarters does not take is looked for. */
  most: number = CHUNK_LIMITS.events;

  constructor(feed: EventFeed, signal: AbortSignal) {
    this.#feed = feed;
    this.#signal = signal;
  }

  /**
   * @param after a seq. @param epoch that it is of.
   * @param waits whether to wait for events, and for a chunk to fill.
   * @returns without events where there are none to wait for, where the epoch is another one by now, or after POLL_MS.
   * @throws {FeedUnavailable}
   */
  async next(after: number, epoch: string, waits: boolean): Promise<Piece> {
    const read = () => this.#feed.next(after, { events: this.most, bytes: CHUNK_LIMITS.bytes });
    let piece = await read();
    if (!waits || piece.epoch !== epoch) return piece;
    if (piece.lines.length === 0) {
      await pause(POLL_MS, this.#signal);
      return this.#signal.aborted ? piece : read();
    }
    for (let left = GATHER_MS; left > 0 && this.#mayGrow(piece); left -= POLL_MS) {
      await pause(POLL_MS, this.#signal);
      piece = await read();
    }
    return piece;
  }

  #mayGrow({ isLast, lines }: Piece): boolean {
    return isLast && lines.length < this.most && !this.#signal.aborted;
  }
}
