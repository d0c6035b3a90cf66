import { CHUNK_LIMITS, isSameEvent, type StoredChunk, seqOf } from '../log/chunk.ts';
import type { Cursor } from '../ship/cursor.ts';
import type { EventFeed } from './eventFeed.ts';

/** Where the copy continues. */
export interface CopyCursor extends Cursor<unknown> {
  /** What the operator should know of it until the copy has caught up, in a sentence; absent: nothing. */
  readonly note?: string;
}

/**
 * Whether the log has the events of a chunk, but for those that were pruned since. A line says when its event came: no other log has
 * the same under the same seq. What an erasure changes, or a pseudonym, does not count.
 */
export async function hasChunk(feed: EventFeed, chunk: StoredChunk): Promise<boolean> {
  const { lastSeq, prunedSeq } = await feed.state();
  if (chunk.last > lastSeq) return false;
  const own = await ownLines(feed, chunk);
  return chunk.lines.every((line) => {
    const stored = own.get(seqOf(line));
    return stored === undefined ? seqOf(line) <= prunedSeq : isSameEvent(stored, line);
  });
}

/** @returns the lines that the log has of the seqs of a chunk, by seq. @throws {FeedUnavailable} */
export async function ownLines(
  feed: EventFeed,
  { lines, last }: Pick<StoredChunk, 'lines' | 'last'>,
): Promise<ReadonlyMap<number, string>> {
  const own = new Map<number, string>();
  const first = seqOf(lines[0]!);
  // More events than the chunk has: it is not of this log, however far it claims to reach.
  for (let after = first - 1; after < last && own.size <= lines.length; ) {
    const piece = await feed.next(after, CHUNK_LIMITS.events);
    for (const line of piece.lines) own.set(seqOf(line), line);
    if (piece.isLast) break;
    after = piece.last;
  }
  return own;
}
