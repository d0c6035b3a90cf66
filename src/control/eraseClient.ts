import type { DataDirectory } from '../base/dataDirectory.ts';
import type { Erased, EraseProgress } from '../store/erasure/erase.ts';
import { ErasureTally } from '../store/erasure/eraseEvents.ts';
import { followDaemon } from './controlClient.ts';
import { ERASE_PATH, type EraseBody, NAMING_PATH, type RejectionCounts } from './eraseRoute.ts';
import { workAnyhow } from './workClient.ts';
import type { WorkLine } from './workRoute.ts';

/** Counts of an erasure that were known before it. */
type KnownCounts = Pick<Erased, 'emptied' | 'renamed' | 'sessions' | 'conflictCopies' | 'rejections'>;

/**
 * Erases a player, by the daemon or in its place.
 * @param beforeNs his events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all.
 * @param found what there was to erase: a daemon that ended in the middle has told nobody what it had done.
 * @param failed is told why the disk has failed: then the process ends.
 * @throws {OperatorError} where it cannot be done: the next erasure of him goes on.
 */
export async function eraseAnyhow(
  data: DataDirectory,
  player: string,
  beforeNs: bigint | undefined,
  found: KnownCounts,
  on: EraseProgress,
  failed: (why: string) => void,
): Promise<Erased> {
  const request: EraseBody = { player, ...(beforeNs !== undefined && { before: String(beforeNs) }) };
  const tally = new ErasureTally();
  const done = await workAnyhow(data, {
    path: ERASE_PATH,
    request,
    command: 'player erase',
    on,
    cut: () => {},
    progress: () => tally.upTo + tally.pages,
    alone: (store, signal) => store.erase({ player, beforeNs, nowMs: Date.now() }, on, signal, tally),
    failed,
  });
  const atLeast = (count: keyof KnownCounts) => Math.max(done[count], found[count]);
  return {
    ...done,
    emptied: atLeast('emptied'),
    renamed: atLeast('renamed'),
    sessions: atLeast('sessions'),
    conflictCopies: atLeast('conflictCopies'),
    rejections: atLeast('rejections'),
  };
}

/** @returns how many rejections an erasure would take; undefined where no daemon runs: then all of them are stored. */
export async function countNaming(data: DataDirectory, player: string): Promise<RejectionCounts | undefined> {
  let count: RejectionCounts | undefined;
  await followDaemon<WorkLine<never, RejectionCounts>>(data, NAMING_PATH, { player }, (line) => {
    if ('done' in line) count = line.done;
  });
  return count;
}
