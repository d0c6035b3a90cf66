import type { Epoch } from '../../../store/layout/epochs.ts';
import type { EventFeed } from '../../feed/eventFeed.ts';
import { CHUNK_LIMITS, isSameEvent, seqOf } from '../../log/chunk.ts';
import type { StoredChunk } from './message.ts';

export interface Cursor {
  /** The name of the epoch that is shipped. */
  readonly epoch: string;
  /** Headquarters has every event up to here; 0: none. */
  readonly seq: number;
  /** What the sink wants to see again with the next chunk; undefined where it has nothing of the epoch. */
  readonly state: unknown;
  /** What the operator should know of where it stands, until the sink has caught up, in a sentence; absent: nothing. */
  readonly note?: string;
}

/** The last chunk of an epoch at headquarters; `chunk` is undefined where what is there is none of courtd's. */
export interface LastChunk extends Pick<Cursor, 'state'> {
  readonly chunk: StoredChunk | undefined;
  /** Where the sink can look through the epoch: up to which seq its chunks are of this log; 0 where none is. */
  readonly ownUpTo?: () => Promise<number>;
}

/** What stands at headquarters is not of this log. */
export class Fenced extends Error {}

/**
 * Where to go on, by what headquarters has: the last chunk of the current epoch. Where it has none yet, the last one of the latest
 * epoch before that has any: its events are those of this log up to where the two epochs parted.
 *
 * Where an operator began an epoch (`ship epoch --new`), as after a clone, the logs may have parted before that. Then the old
 * epoch's last chunk counts if it is of this log, and else the last one that is, where the sink can find it, or what the box knew
 * to be shipped: an event may come twice then. That knowledge is not in the database, so it is wrong where an older one was put back.
 * @param epochs of the log, the current one last.
 * @param lastOf asks headquarters.
 * @param isOurs whether the log has the events of a chunk.
 * @throws {Fenced} where the current epoch's last chunk is not of this log.
 */
export async function startCursor(
  epochs: readonly Epoch[],
  lastOf: (epoch: string) => Promise<LastChunk | undefined>,
  isOurs: (chunk: StoredChunk) => Promise<boolean>,
): Promise<Cursor> {
  const epoch = epochs.at(-1)!.name;
  const own = await lastOf(epoch);
  if (own !== undefined) {
    if (own.chunk === undefined || !(await isOurs(own.chunk))) throw new Fenced();
    return { epoch, seq: own.chunk.last, state: own.state };
  }
  for (let at = epochs.length - 2; at >= 0; at--) {
    const found = await lastOf(epochs[at]!.name);
    if (found?.chunk === undefined) continue;
    const later = epochs.slice(at + 1);
    const shared = Math.min(...later.map(({ fromSeq }) => fromSeq));
    const noted = later.flatMap(({ shippedSeq }) => shippedSeq ?? []);
    const isWhole = noted.length === 0 || (found.chunk.last <= shared && (await isOurs(found.chunk)));
    const known = isWhole ? [found.chunk.last] : found.ownUpTo ? [await found.ownUpTo()] : noted;
    return { epoch, seq: Math.min(shared, ...known), state: undefined };
  }
  return { epoch, seq: 0, state: undefined };
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
