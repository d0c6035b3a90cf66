import type { Database, Statement } from 'better-sqlite3';
import { UNFLUSHED } from '../dedup/dedupIndex.ts';
import { type KeyHash, readKeyHash } from '../dedup/keyHash.ts';

/** A revision of an event. */
interface EventRevision {
  readonly session: number;
  readonly eventId: string;
  readonly revision: number;
}

interface Found {
  readonly seq: number;
  readonly revision: number;
}

/**
 * Finds the revisions that a higher one supersedes: by their keys, and for the events whose keys are not
 * flushed yet in a list of those events, which is read once (MEMTABLE_KEYS_MAX events at most).
 */
export class SupersededRevisions {
  readonly #db: Database;
  readonly #hash: KeyHash;
  readonly #selectFlushed: Statement<[number, number, number, string], number>;
  #unflushed: Map<string, Found[]> | undefined;

  constructor(db: Database) {
    this.#db = db;
    this.#hash = readKeyHash(db);
    // With `+?`: see SELECT_EVENT (../erasure/eraseEvents.ts).
    this.#selectFlushed = db
      .prepare<[number, number, number, string], number>(`
        SELECT e.seq FROM key k CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session
         WHERE k.session = +? AND k.hash = +? AND k.revision < +? AND e.event_id = +?`)
      .pluck();
  }

  /** @returns the seqs of all lower revisions of the same event. */
  below({ session, eventId, revision }: EventRevision): number[] {
    // Before the keys: what is flushed meanwhile is then found twice rather than not at all.
    this.#unflushed ??= this.#readUnflushed();
    const unflushed = this.#unflushed.get(`${session} ${eventId}`) ?? [];
    const inMemtable = unflushed.filter((found) => found.revision < revision).map(({ seq }) => seq);
    const flushed = this.#selectFlushed.all(session, this.#hash(eventId), revision, eventId);
    return [...new Set([...flushed, ...inMemtable])];
  }

  #readUnflushed(): Map<string, Found[]> {
    const unflushed = new Map<string, Found[]>();
    const rows = this.#db
      .prepare<[], [number, string, number, number]>(`SELECT session, event_id, revision, seq ${UNFLUSHED}`)
      .raw();
    for (const [session, eventId, revision, seq] of rows.iterate()) {
      const name = `${session} ${eventId}`;
      const same = unflushed.get(name);
      if (same === undefined) unflushed.set(name, [{ seq, revision }]);
      else same.push({ seq, revision });
    }
    return unflushed;
  }
}
