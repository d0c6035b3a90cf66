import type { Database } from 'better-sqlite3';

/**
 * Which log of arrivals this is. A restore brings back the numbering of the backup: later seqs are assigned again, to other events
 * than before. So it begins an epoch, and a reader in the order of arrival sees where the two logs diverge.
 */
export interface Epoch {
  /** Random: no two logs share one. */
  readonly name: string;
  /** The highest seq that had been assigned when it began: earlier epochs have the events up to this one, too. */
  readonly fromSeq: number;
  /**
   * If an operator began it (`courtd ship --new-epoch`): the seq up to which headquarters had the events when this box last knew. Null
   * if a restore did.
   */
  readonly shippedSeq?: number | null;
}

/** SQL for the highest seq that was ever assigned, even if its event has been deleted; 0 without events. */
export const LAST_GIVEN_SEQ = `
  max(ifnull((SELECT max(seq) FROM event), 0), (SELECT up_to_seq FROM pruned), (SELECT max(up_to, counted_up_to) FROM flushed),
      ifnull((SELECT max(from_seq) FROM epoch), 0))`;

/** In centuries no box gives so many seqs: a higher one is damaged. */
export const SEQ_END = 2 ** 42;

export const RANDOM_NAME = 'lower(hex(randomblob(12)))';

/**
 * From now on this database has a numbering of its own. Call it inside a transaction.
 * @param shippedSeq see Epoch. More than was ever assigned is known from a later database than this one, which was put back: nothing is
 * known then.
 */
export function beginEpoch(db: Database, shippedSeq: number | null = null): void {
  db.prepare(
    `INSERT INTO epoch (name, from_seq, shipped_seq)
     VALUES (${RANDOM_NAME}, ${LAST_GIVEN_SEQ}, iif(@shippedSeq > ${LAST_GIVEN_SEQ}, 0, @shippedSeq))`,
  ).run({ shippedSeq });
}

/** @returns all epochs, the current one last. */
export function readEpochs(db: Database): Epoch[] {
  return db
    .prepare<[], Epoch>('SELECT name, from_seq AS fromSeq, shipped_seq AS shippedSeq FROM epoch ORDER BY id')
    .all();
}

/**
 * @returns the highest seq up to which two logs have the same events: MAX_SAFE_INTEGER if they are the same log, undefined if
 * they have nothing in common.
 */
export function sharedUpTo(one: readonly Epoch[], other: readonly Epoch[]): number | undefined {
  let same = 0;
  while (same < one.length && one[same]!.name === other[same]?.name) same++;
  if (same === 0) return undefined;
  // They share the last common epoch up to the seq at which either log began another one.
  const parted = [...one.slice(same), ...other.slice(same)];
  return Math.min(Number.MAX_SAFE_INTEGER, ...parted.map(({ fromSeq }) => fromSeq));
}
