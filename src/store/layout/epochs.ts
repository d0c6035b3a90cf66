import type { Database } from 'better-sqlite3';

/**
 * Which log of arrivals this is. A restore brings back the numbering of the backup: later seqs are given again, to other events
 * than before. So it begins an epoch, and who reads in the order of arrival sees where the two logs part.
 */
export interface Epoch {
  /** Random: no two logs have the same. */
  readonly name: string;
  /** The highest seq that had been given when it began: the epochs before it have the events up to here, too. */
  readonly fromSeq: number;
  /**
   * Where an operator began it (`courtd ship epoch --new`): headquarters had the events up to here, as far as this box knew. Null
   * where a restore did.
   */
  readonly shippedSeq?: number | null;
}

/** SQL for the highest seq that was ever given, also where its event has been pruned; 0 without events. */
export const LAST_GIVEN_SEQ = `
  max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0), ifnull((SELECT max(seq) FROM event), 0))`;

export const RANDOM_NAME = 'lower(hex(randomblob(12)))';

/** From here on this database has its own numbering. Call it in a transaction. @param shippedSeq see Epoch. */
export function beginEpoch(db: Database, shippedSeq: number | null = null): void {
  db.prepare(
    `INSERT INTO epoch (name, from_seq, shipped_seq) VALUES (${RANDOM_NAME}, ${LAST_GIVEN_SEQ}, ?)`,
  ).run(shippedSeq);
}

/** @returns all of them, the current one last. */
export function readEpochs(db: Database): Epoch[] {
  return db
    .prepare<[], Epoch>('SELECT name, from_seq AS fromSeq, shipped_seq AS shippedSeq FROM epoch ORDER BY id')
    .all();
}

/**
 * @returns the highest seq up to which two logs have the same events: all of them where one is the other, undefined where they
 * have nothing in common.
 */
export function sharedUpTo(one: readonly Epoch[], other: readonly Epoch[]): number | undefined {
  let same = 0;
  while (same < one.length && one[same]!.name === other[same]?.name) same++;
  if (same === 0) return undefined;
  // What came after the last common epoch began is common up to where either of them began another one.
  const parted = [...one.slice(same), ...other.slice(same)];
  return Math.min(Number.MAX_SAFE_INTEGER, ...parted.map(({ fromSeq }) => fromSeq));
}
