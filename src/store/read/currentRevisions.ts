import type { Database, Statement } from 'better-sqlite3';
import { READ_CHUNK_ROWS } from '../../base/limits.ts';
import { BloomFilter } from '../dedup/bloomFilter.ts';
import { type KeyHash, readKeyHash } from '../dedup/keyHash.ts';

interface Revision {
  readonly eventId: string;
  readonly revision: number;
  current: boolean;
}

interface Lookup {
  readonly eventId: string;
  readonly hash: number;
  readonly revision: number;
}

/**
 * Which revision of an event is the highest of its session, for a reader. Querying for higher ones took a
 * quarter of the time of exporting a million events, so that is done only where two cheaper tests leave it
 * open: a Bloom filter rules out events that were never revised, and a correction mostly has the eot of what
 * it corrects, so that both are in one chunk.
 */
export class CurrentRevisions {
  readonly #hash: KeyHash;
  readonly #filter = new BloomFilter();
  /** The highest revision number in the session. */
  #highestRevision = 0;
  readonly #hasHigher: Statement<[Lookup], number>;

  /**
   * @param db a connection of its own: creates a temporary table in it.
   * @param lastSeq later events are ignored.
   */
  constructor(db: Database, session: number, lastSeq: number) {
    this.#hash = readKeyHash(db);
    this.#collectRevised(db, session, lastSeq);
    this.#hasHigher = db
      .prepare<[Lookup], number>(`
        SELECT EXISTS (
            SELECT 1 FROM key k CROSS JOIN event e ON e.seq = k.seq
             WHERE k.session = ${session} AND k.hash = @hash AND k.revision > @revision AND k.seq <= ${lastSeq}
               AND e.event_id = @eventId)
          OR EXISTS (SELECT 1 FROM temp.revised WHERE event_id = @eventId AND revision > @revision)`)
      .pluck();
  }

  /** Sets `current` of some events of the session: whether it is the highest revision. */
  mark(events: readonly Revision[]): void {
    const highestInChunk = new Map<string, number>();
    for (const { eventId, revision } of events) {
      if (revision > 0 && revision > (highestInChunk.get(eventId) ?? 0))
        highestInChunk.set(eventId, revision);
    }
    for (const event of events) event.current = this.#isLatest(event, highestInChunk);
  }

  #isLatest({ eventId, revision }: Revision, highestInChunk: ReadonlyMap<string, number>): boolean {
    if (revision === this.#highestRevision) return true;
    const hash = this.#hash(eventId);
    if (!this.#filter.mayContain(hash)) return true;
    if ((highestInChunk.get(eventId) ?? 0) > revision) return false;
    return this.#hasHigher.get({ eventId, hash, revision }) === 0;
  }

  /**
   * Reads all events with a revision above 0. Those whose keys are not flushed cannot be found by key
   * (dedupIndex.ts), and are few: they go into a temporary table, which is indexed once complete, in a third
   * of the time of indexing row by row.
   */
  #collectRevised(db: Database, session: number, lastSeq: number): void {
    const revised = `event INDEXED BY event_revised WHERE session = ${session} AND revision > 0 AND seq <= ${lastSeq}`;
    db.exec(`
      DROP TABLE IF EXISTS temp.revised;
      CREATE TEMP TABLE revised AS
        SELECT event_id, revision FROM ${revised} AND seq > (SELECT up_to_seq FROM flushed);
      CREATE INDEX temp.by_id ON revised (event_id, revision);
    `);
    const chunk = db
      .prepare<[number], readonly [seq: number, eventId: string, revision: number]>(
        `SELECT seq, event_id, revision FROM ${revised} AND seq > ? ORDER BY seq LIMIT ${READ_CHUNK_ROWS}`,
      )
      .raw();
    for (let rows = chunk.all(0); rows.length > 0; rows = chunk.all(rows.at(-1)![0])) {
      for (const [, eventId, revision] of rows) {
        this.#filter.add(this.#hash(eventId));
        if (revision > this.#highestRevision) this.#highestRevision = revision;
      }
    }
  }
}
