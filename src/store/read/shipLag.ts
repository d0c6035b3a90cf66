import type { Database } from 'better-sqlite3';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';

/** Up to this many seqs, events are counted one by one, which takes a few milliseconds; beyond, the count is estimated from the seqs. */
const COUNTED_SEQS = 10_000;

/** How much is stored after a seq. */
export interface Lag {
  readonly epochs: readonly Epoch[];
  /** The highest seq that was ever assigned; 0 without events. */
  readonly newestSeq: number;
  /** Undefined if there was nothing to count. */
  readonly behind:
    | {
        readonly events: number;
        /** When the oldest of them was received, milliseconds since 1970-01-01T00:00:00Z; undefined without any. */
        readonly oldestMs: number | undefined;
      }
    | undefined;
}

/** Up to which seq a log with these epochs has been shipped; undefined: nothing is to be counted. */
export type ShippedOf = (epochs: readonly Epoch[]) => number | undefined;

/** @returns how much is stored after what has been shipped. */
export function readShipLag(db: Database, shippedOf: ShippedOf): Lag {
  const number = (sql: string) => db.prepare<number[], number | null>(sql).pluck();
  return db.transaction(() => {
    const epochs = readEpochs(db);
    const shipped = shippedOf(epochs);
    const newestSeq = number(`SELECT ${LAST_GIVEN_SEQ}`).get() ?? 0;
    if (shipped === undefined) return { epochs, newestSeq, behind: undefined };
    const oldest = db
      .prepare<[number], { seq: number; ms: number }>(
        'SELECT seq, received_ms AS ms FROM event WHERE seq > ? ORDER BY seq LIMIT 1',
      )
      .get(shipped);
    const seqs = oldest === undefined ? 0 : newestSeq - oldest.seq + 1;
    const count = number('SELECT count(*) FROM event WHERE seq > ?');
    const events = seqs > COUNTED_SEQS ? seqs : count.get(shipped)!;
    return { epochs, newestSeq, behind: { events, oldestMs: oldest?.ms } };
  })();
}
