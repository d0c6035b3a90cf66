import type { Database } from 'better-sqlite3';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';

/** Up to this many seqs, events are counted one by one, which takes a few milliseconds; beyond, the count is estimated from the seqs. */
const COUNTED_SEQS = 10_000;

/** How much is stored after a seq. */
export interface Lag {
  readonly epochs: readonly Epoch[];
  /** The highest seq that was ever assigned; 0 without events. */
  readonly newestSeq: number;
  readonly events: number;
  /** When the oldest of them was received, milliseconds since 1970-01-01T00:00:00Z; null without any. */
  readonly oldestMs: number | null;
}

/** Up to which seq a log with these epochs has been shipped. */
export type ShippedOf = (epochs: readonly Epoch[]) => number;

/** @returns how much is stored after what has been shipped. */
export function readShipLag(db: Database, shippedOf: ShippedOf): Lag {
  const read = db.prepare<[number], Omit<Lag, 'epochs'>>(`
    SELECT newestSeq, (SELECT received_ms FROM event WHERE seq = first) AS oldestMs,
           iif(first IS NULL OR newestSeq - first < ${COUNTED_SEQS}, (SELECT count(*) FROM event WHERE seq >= first),
               newestSeq - first + 1) AS events
      FROM (SELECT ${LAST_GIVEN_SEQ} AS newestSeq, (SELECT min(seq) FROM event WHERE seq > ?) AS first)`);
  return db.transaction(() => {
    const epochs = readEpochs(db);
    return { epochs, ...read.get(shippedOf(epochs))! };
  })();
}
