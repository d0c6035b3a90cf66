import type { Database } from 'better-sqlite3';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';

/** Up to this many seqs, events are counted one by one, which takes a few milliseconds; beyond, the count is estimated from the seqs. */
const COUNTED_SEQS = 10_000;

/** How far another place is behind this log. */
export interface Lag {
  readonly epochs: readonly Epoch[];
  /** It has every event up to here; null: unknown. */
  readonly shippedSeq: number | null;
  /** The highest seq that was ever assigned; 0 without events. */
  readonly newestSeq: number;
  /** Events after what it has. */
  readonly events: number;
  /** When the oldest of them was received, milliseconds since 1970-01-01T00:00:00Z; null without any. */
  readonly oldestMs: number | null;
}

/** How far another place has this log, by its report. */
export type Shipped = readonly [epoch: string | null | undefined, seq: number | null | undefined];

/** @returns how much is stored after what has been shipped. */
export function readShipLag(db: Database, ...[epoch, seq]: Shipped): Lag {
  const read = db.prepare<[number], Pick<Lag, 'newestSeq' | 'events' | 'oldestMs'>>(`
    SELECT newestSeq, (SELECT received_ms FROM event WHERE seq = first) AS oldestMs,
           iif(first IS NULL OR newestSeq - first < ${COUNTED_SEQS}, (SELECT count(*) FROM event WHERE seq >= first),
               newestSeq - first + 1) AS events
      FROM (SELECT ${LAST_GIVEN_SEQ} AS newestSeq, (SELECT min(seq) FROM event WHERE seq > ?) AS first)`);
  return db.transaction(() => {
    const epochs = readEpochs(db);
    const shippedSeq = knownUpTo(epoch, seq, epochs) ?? null;
    return { epochs, shippedSeq, ...read.get(shippedSeq ?? 0)! };
  })();
}

/**
 * @returns the seq up to which another place has this log; undefined if unknown. A report of an older epoch counts up to the end of
 * that epoch.
 */
export function knownUpTo(epoch: Shipped[0], seq: Shipped[1], epochs: readonly Epoch[]): number | undefined {
  const at = epochs.findIndex(({ name }) => name === epoch);
  if (seq == null || at < 0) return undefined;
  return Math.min(seq, ...epochs.slice(at + 1).map(({ fromSeq }) => fromSeq));
}
