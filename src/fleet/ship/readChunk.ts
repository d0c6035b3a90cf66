import { pause } from '../../base/pause.ts';
import type { EventFeed, Piece } from '../feed/eventFeed.ts';

/** A chunk is sent when it is full, or when its first event has waited this long. */
const GATHER_MS = 2_000;
/** How often the log is read while nothing new comes. */
const POLL_MS = 500;

interface WantedChunk {
  /** A seq, and the epoch that it is of. */
  readonly after: number;
  readonly epoch: string;
  /** Events at the most. */
  readonly most: number;
  /** Whether to wait for events, and for the chunk to fill. */
  readonly waits: boolean;
}

/**
 * @returns without events where there are none to wait for, where the epoch is another one by now, or after POLL_MS.
 * @throws {FeedUnavailable}
 */
export async function readChunk(
  feed: EventFeed,
  { after, epoch, most, waits }: WantedChunk,
  signal: AbortSignal,
): Promise<Piece> {
  let piece = await feed.next(after, most);
  if (!waits || piece.epoch !== epoch) return piece;
  for (let left = GATHER_MS; left > 0 && piece.isLast && piece.lines.length < most; left -= POLL_MS) {
    await pause(POLL_MS, signal);
    if (signal.aborted) break;
    piece = await feed.next(after, most);
    if (piece.lines.length === 0) break;
  }
  return piece;
}
