import { createHmac } from 'node:crypto';
import type { Database } from 'better-sqlite3';

/**
 * The players who have been erased, by keyed hashes: a reader of the ledger can find out whether a known id was erased,
 * and not who was. A restore or an import, which bring old events back, apply it.
 */
export interface Erasure {
  readonly key: Buffer;
  /** HMAC-SHA-256 of the player_id. */
  readonly player: Buffer;
  /**
   * The player's events that happened before this are erased: nanoseconds since 1970-01-01T00:00:00Z. The eot of a stored event counts
   * as its receipt if it is later than that.
   */
  readonly beforeNs: bigint;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly atMs: number;
  /** The same; null: it was ended in the middle. */
  readonly finishedMs: number | null;
}

/** Later than every eot. */
export const FOREVER_NS = 2n ** 63n - 1n;

export function readErasures(db: Database): Erasure[] {
  const rows = db.prepare<[], Omit<Erasure, 'beforeNs'> & { readonly before: string }>(`
    SELECT key, player, CAST(before_ns AS TEXT) AS before, at_ms AS atMs, finished_ms AS finishedMs FROM erasure`);
  return rows.all().map(({ before, ...erasure }) => ({ ...erasure, beforeNs: BigInt(before) }));
}

/** @returns when the latest unfinished erasure began; null if all are finished. */
export function unfinishedErasureMs(db: Database): number | null {
  const latest = 'SELECT max(at_ms) FROM erasure WHERE finished_ms IS NULL';
  return db.prepare<[], number | null>(latest).pluck().get() ?? null;
}

/**
 * Adds to the ledger. The later of two entries of a player counts, and a finished one stays finished if another adds nothing.
 * Call it inside a transaction.
 * @param all not finished, if this database has not seen it applied.
 */
export function addErasures(db: Database, all: readonly Erasure[]): void {
  const put = db.prepare<[Erasure]>(`
    INSERT INTO erasure (key, player, before_ns, at_ms, finished_ms) VALUES (@key, @player, @beforeNs, @atMs, @finishedMs)
    ON CONFLICT DO UPDATE SET before_ns = max(before_ns, excluded.before_ns), at_ms = max(at_ms, excluded.at_ms),
           finished_ms = iif(excluded.before_ns > before_ns, excluded.finished_ms, ifnull(excluded.finished_ms, finished_ms))`);
  for (const erasure of all) put.run(erasure);
}

/** @returns the secret of a database, with which its names for players are made: its backups and copies have the same. */
export function secretOf(db: Database): Buffer {
  return db.prepare<[], Buffer>('SELECT key FROM secret').pluck().get()!;
}

/** @returns a new entry for a player. */
export function erasureOf(db: Database, player: string, beforeNs: bigint, atMs: number): Erasure {
  const key = secretOf(db);
  return { key, player: keyedHash(key, player), beforeNs, atMs, finishedMs: null };
}

/** @returns the HMAC-SHA-256 of some texts. */
export function keyedHash(key: Buffer, ...texts: readonly string[]): Buffer {
  return createHmac('sha256', key).update(texts.join('\0')).digest();
}
