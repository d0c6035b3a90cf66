import type { Epoch } from '../../store/layout/epochs.ts';
import { isSameEvent, type StoredChunk, seqOf } from '../log/chunk.ts';
import type { BoxLog } from './boxLog.ts';

/** The position at which the log continues at headquarters. */
export interface Cursor {
  /** The name of the epoch that is shipped. */
  readonly epoch: string;
  /** Headquarters has every event up to here; 0: none. */
  readonly seq: number;
  /** The number of the message of the epoch's last chunk in the stream; undefined: it has none. */
  readonly place: number | undefined;
}

/** The last chunk of an epoch at headquarters. */
export interface LastChunk {
  readonly place: number;
  /** Undefined: it is none of courtd's. */
  readonly chunk: StoredChunk | undefined;
}

/** Headquarters has something that is not of this log. */
export class Fenced extends Error {}

/**
 * Finds the position by the last message of the current epoch at headquarters. If there is none yet, by that of the latest
 * earlier epoch that has any: its events are those of this log up to the point at which the two epochs diverge.
 *
 * If an operator began an epoch (`courtd ship --new-epoch`), as after a clone, the logs may have parted before that. Then the old
 * epoch's last message counts only if it is of this log, and else what the box knew to be shipped: an event may come twice then.
 * @param epochs of the log, the current one last.
 * @param lastOf asks headquarters.
 * @param isOurs whether the log has the events of a chunk.
 * @throws {Fenced} if the current epoch's last message is not of this log.
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
    return { epoch, seq: own.chunk.last, place: own.place };
  }
  for (let at = epochs.length - 2; at >= 0; at--) {
    const chunk = (await lastOf(epochs[at]!.name))?.chunk;
    if (chunk === undefined) continue;
    const later = epochs.slice(at + 1);
    const shared = Math.min(...later.map(({ fromSeq }) => fromSeq));
    const noted = later.flatMap(({ shippedSeq }) => shippedSeq ?? []);
    const isWhole = noted.length === 0 || (chunk.last <= shared && (await isOurs(chunk)));
    return { epoch, seq: Math.min(shared, ...(isWhole ? [chunk.last] : noted)), place: undefined };
  }
  return { epoch, seq: 0, place: undefined };
}

/**
 * Whether a log has the events of a chunk, but for those that were pruned since. A line says when its event came: no other log has the
 * same under the same seq. What an erasure changes, or a pseudonym, does not count.
 * @param log an open one, whose events have not been asked for.
 */
export async function hasChunk(log: BoxLog, chunk: StoredChunk, signal: AbortSignal): Promise<boolean> {
  const { newest_seq, pruned_seq } = log.head;
  if (chunk.last > newest_seq) return false;
  const own = new Map<number, string>();
  log.start(seqOf(chunk.lines[0]!) - 1);
  // More events than the chunk has: it is not of this log, however far it claims to reach.
  while (own.size <= chunk.lines.length) {
    const piece = await log.next(0, 0, signal);
    for (const line of piece?.lines ?? []) own.set(seqOf(line), line);
    if (piece === undefined || piece.last >= chunk.last) break;
  }
  return chunk.lines.every((line) => {
    const stored = own.get(seqOf(line));
    return stored === undefined ? seqOf(line) <= pruned_seq : isSameEvent(stored, line);
  });
}
