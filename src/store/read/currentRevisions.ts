import type { Database, Statement } from 'better-sqlite3';
import { BloomFilter } from '../dedup/bloomFilter.ts';
import { type KeyHash, readKeyHash } from '../dedup/keyHash.ts';
import type { EotOrder } from './eotOrder.ts';
import { unlessDamaged } from './readableRows.ts';

interface Revision {
  readonly seq: number;
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
  readonly #db: Database;
  readonly #session: number;
  readonly #hash: KeyHash;
  readonly #filter = new BloomFilter();
  readonly #addUnkeyed: Statement<[string, number]>;
  /** The highest revision number in the session. */
  #highestRevision = 0;
  #hasHigher: Statement<[Lookup], number> | undefined;
  #hasKey: Statement<[Lookup & { seq: number }], number> | undefined;
  #keyedSeq = 0;
  /** Revised events without their key: a lower revision of them may have been taken for the current one. */
  withoutKey = 0;

  /** @param db a connection of its own: creates a temporary table in it. */
  constructor(db: Database, session: number) {
    this.#db = db;
    this.#session = session;
    this.#hash = readKeyHash(db);
    db.exec('DROP TABLE IF EXISTS temp.revised; CREATE TEMP TABLE revised (event_id, revision)');
    this.#addUnkeyed = db.prepare('INSERT INTO temp.revised VALUES (?, ?)');
  }

  /** Takes an event with a revision above 0 (eotOrder.ts). Those that no key leads to go into a temporary table, and are few. */
  add(eventId: string, revision: number, isKeyed: boolean): void {
    this.#filter.add(this.#hash(eventId));
    if (revision > this.#highestRevision) this.#highestRevision = revision;
    if (!isKeyed) this.#addUnkeyed.run(eventId, revision);
  }

  /** Call it after the last `add`: a table that is complete is indexed in a third of the time. */
  complete({ lastSeq, keyedSeq }: Pick<EotOrder, 'lastSeq' | 'keyedSeq'>): void {
    this.#keyedSeq = keyedSeq;
    this.#db.exec('CREATE INDEX temp.by_id ON revised (event_id, revision)');
    this.#hasHigher = this.#db
      .prepare<[Lookup], number>(`
        SELECT EXISTS (
            SELECT 1 FROM key k CROSS JOIN event e ON e.seq = k.seq
             WHERE k.session = ${this.#session} AND k.hash = @hash AND k.revision > @revision AND k.seq <= ${lastSeq}
               AND e.event_id = @eventId)
          OR EXISTS (SELECT 1 FROM temp.revised WHERE event_id = @eventId AND revision > @revision)`)
      .pluck();
    this.#hasKey = this.#db
      .prepare<[Lookup & { seq: number }], number>(`
        SELECT EXISTS (SELECT 1 FROM key WHERE session = ${this.#session} AND hash = @hash AND revision = @revision AND seq = @seq)`)
      .pluck();
  }

  /** Sets `current` of some events of the session: whether it is the highest revision. */
  mark(events: readonly Revision[]): void {
    const highestInChunk = new Map<string, number>();
    for (const event of events) {
      const { eventId, revision, seq } = event;
      if (revision === 0) continue;
      if (revision > (highestInChunk.get(eventId) ?? 0)) highestInChunk.set(eventId, revision);
      if (seq > this.#keyedSeq) continue;
      const hash = this.#hash(eventId);
      if (unlessDamaged(() => this.#hasKey?.get({ eventId, revision, seq, hash }), 0) !== 1)
        this.withoutKey++;
    }
    for (const event of events) event.current = this.#isLatest(event, highestInChunk);
  }

  #isLatest({ eventId, revision }: Revision, highestInChunk: ReadonlyMap<string, number>): boolean {
    if (revision === this.#highestRevision) return true;
    const hash = this.#hash(eventId);
    if (!this.#filter.mayContain(hash)) return true;
    if ((highestInChunk.get(eventId) ?? 0) > revision) return false;
    return unlessDamaged(() => this.#hasHigher?.get({ eventId, hash, revision }), 0) === 0;
  }
}
