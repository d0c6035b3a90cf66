import type { Epoch } from '../../store/db/epochs.ts';
import { type Chunk, isSameEvent, seqOf } from '../log/chunk.ts';
import type { BoxLog } from './boxLog.ts';

/** The last message of an epoch at headquarters. */
export interface LastChunk {
  readonly place: number;
  /** Undefined: it was not written by courtd. */
  readonly chunk: Chunk | undefined;
}

/** Headquarters has something that is not of this log. */
export class Fenced extends Error {}

/** Headquarters has another last message than was expected: ask it. */
export class Moved extends Error {
  constructor() {
    super(
      'Headquarters has another last message than it reports. One of its servers is late, or another box ships under this name: check that the name is unique.',
    );
  }
}

/**
 * Finds the position by the last message of the current epoch at headquarters. If there is none yet, by that of the latest
 * earlier epoch that has any: its events are those of this log up to the point at which the two epochs diverge.
 *
 * If an operator began an epoch (`courtd ship --new-epoch`), as after a clone, the logs may have parted before that. Then the old
 * epoch's last message counts only if it is of this log, and else what the box knew to be shipped: an event may come twice then.
 * @param epochs of the log, the current one last.
 * @param lastOf asks headquarters.
 * @param isOurs whether the log has the events of a chunk.
 * @returns the seq up to which headquarters has every event (0: none), and the number of the epoch's last message there (0: none).
 * @throws {Fenced} if the current epoch's last message is not of this log.
 */
export async function startCursor(
  epochs: readonly Epoch[],
  lastOf: (epoch: string) => Promise<LastChunk | undefined>,
  isOurs: (chunk: Chunk) => Promise<boolean>,
): Promise<{ readonly seq: number; readonly place: number }> {
  const own = await lastOf(epochs.at(-1)!.name);
  if (own !== undefined) {
    if (own.chunk === undefined || !(await isOurs(own.chunk))) throw new Fenced();
    return { seq: own.chunk.last, place: own.place };
  }
  for (let at = epochs.length - 2; at >= 0; at--) {
    const chunk = (await lastOf(epochs[at]!.name))?.chunk;
    if (chunk === undefined) continue;
    const later = epochs.slice(at + 1);
    const shared = Math.min(...later.map(({ fromSeq }) => fromSeq));
    const noted = later.flatMap(({ shippedSeq }) => shippedSeq ?? []);
    const isWhole = noted.length === 0 || (chunk.last <= shared && (await isOurs(chunk)));
    return { seq: Math.min(shared, ...(isWhole ? [chunk.last] : noted)), place: 0 };
  }
  return { seq: 0, place: 0 };
}

/**
 * Whether a log has the events of a chunk, but for those that were pruned since. A line says when its event came: no other log has the
 * same under the same seq. A difference by an erasure or a pseudonym does not count.
 * @param log an open one, whose events have not been asked for.
 */
export async function hasChunk(log: BoxLog, chunk: Chunk): Promise<boolean> {
  const { newest_seq, pruned_seq } = log.head;
  if (chunk.last > newest_seq) return false;
  const own = new Map<number, string>();
  for await (const { lines, isLast } of log.pieces(seqOf(chunk.lines[0]!) - 1)) {
    for (const line of lines) own.set(seqOf(line), line);
    // More events than the chunk has: it is not of this log, however far it claims to reach.
    if (isLast || own.has(chunk.last) || own.size > chunk.lines.length) break;
  }
  return chunk.lines.every((line) => {
    const stored = own.get(seqOf(line));
    return stored === undefined ? seqOf(line) <= pruned_seq : isSameEvent(stored, line);
  });
}
