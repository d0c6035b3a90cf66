import type { Database } from 'better-sqlite3';
import { inChunks, MultiRowStatement } from '../sqlite/multiRowStatement.ts';
import { BloomFilter } from './bloomFilter.ts';
import { Flush } from './flush.ts';
import { type KeyHash, readKeyHash } from './keyHash.ts';
import { type Key, type KeyEntry, Memtable, mix } from './memtable.ts';

/** Keys that the daemon keeps in memory before they go to the file, 40 bytes each; as many more come while they go. */
export const MEMTABLE_KEYS = 200_000;
/**
 * The filter that tells of most new events that they are new: 4 MiB. When it holds so many keys it is wrong of 6 in 100, and
 * another one begins. Where it cannot tell, the file is asked: 3 us instead of 0.4 (measured).
 */
const BLOOM_FILTER = { bits: 2 ** 25, keys: 4_000_000 } as const;

/** The events whose keys are read back at start. */
export const UNFLUSHED = 'FROM event WHERE seq > (SELECT up_to_seq FROM flushed)';

const NO_KEYS: readonly KeyEntry[] = [];
const NO_SEQS: readonly number[] = [];

/**
 * Which events are found, for ever. Event ids are random, so an index over all of them would dirty a page of its own
 * for each event: 14 KB written for 200 bytes, slow, and hard on flash. Instead events are appended in order of
 * arrival, and the keys of the latest are in memory: session, revision and a hash of the event_id, and the seq of the event.
 *
 * A key tells where its event may be; whether it is there and is the same one, the event itself tells. So no hash can make
 * two events one, and a key that leads nowhere does no harm.
 *
 * Nothing is lost with the memory: the keys of all events after the last that were flushed are read back at start. To bound
 * that, they move to the file when there are LIVE_KEYS of them (flush.ts): sorted, so that a page takes many at once.
 *
 * A filter of bits tells of most new events that no key of theirs is in the file. Without it, and with only sessions asked for
 * that have begun to be flushed, 16 sessions that go on for two million events cost 8.7 us an event instead of 5, which is
 * a quarter of what a request of 500 costs in all.
 *
 * This holds for one writing process (directoryLock.ts). Other processes work from the file alone.
 */
export class DedupIndex {
  readonly hash: KeyHash;
  readonly #selectFlushed: MultiRowStatement<KeyEntry>;
  readonly #flush: Flush;
  /** Sessions are numbered as they begin. The filter holds all keys of those that began after this one. */
  #lastUnfilteredSession: number;
  #lastSession: number;
  #filter = new BloomFilter(BLOOM_FILTER.bits);
  /** Keys in it. */
  #keysInFilter = 0;
  /** Those that come now; before them those that are on their way to the file, if any are. */
  #memtable = new Memtable();
  /** How many of them a rollback leaves. */
  #committedLength = 0;

  constructor(db: Database) {
    this.hash = readKeyHash(db);
    this.#selectFlushed = new MultiRowStatement(
      db,
      3,
      (values) => `
        WITH asked (session, hash, revision) AS (VALUES ${values})
        SELECT key.* FROM asked CROSS JOIN key USING (session, hash, revision)`,
    );
    this.#lastUnfilteredSession =
      db.prepare<[], number | null>('SELECT max(session) FROM key').pluck().get() ?? 0;
    this.#lastSession = this.#lastUnfilteredSession;
    this.#flush = new Flush(db);
    this.#recover(db);
  }

  /** Keys in memory. */
  get count(): number {
    return this.#memtable.length + (this.#flush.keys?.length ?? 0);
  }

  /**
   * Makes the keys found that are certainly new, inside the transaction that stores their events.
   * @returns for each key where its event may be: nowhere, if it was new.
   */
  findOrInsert(keys: readonly KeyEntry[]): (readonly number[])[] {
    const seqs: (readonly number[])[] = [];
    for (const rows of inChunks(keys)) {
      const flushed = this.#findFlushed(rows.filter((key) => this.#mayBeKnown(key)));
      for (const key of rows) {
        const found = this.#mayBeKnown(key)
          ? [...this.findInMemory(key), ...matchingSeqs(key, flushed)]
          : NO_SEQS;
        if (found.length === 0) this.insert(key);
        seqs.push(found);
      }
    }
    return seqs;
  }

  /** Makes a key found, whatever else is found by it. */
  insert(key: KeyEntry): void {
    this.#memtable.add(key);
    this.#filter.add(mix(key));
    this.#keysInFilter++;
    if (key.session > this.#lastSession) this.#lastSession = key.session;
  }

  /** @returns where its event may be, of those whose keys are in memory. */
  findInMemory(key: Key): readonly number[] {
    const live = this.#memtable.find(key);
    const flushing = this.#flush.keys?.find(key);
    return flushing === undefined || flushing.length === 0 ? live : [...live, ...flushing];
  }

  committed(): void {
    this.#committedLength = this.#memtable.length;
  }

  rolledBack(): void {
    this.#memtable.truncate(this.#committedLength);
  }

  /** Whether `sealStep` has something to do. */
  get isFlushDue(): boolean {
    return this.#flush.keys !== undefined || this.#memtable.length >= MEMTABLE_KEYS;
  }

  /** Begins, or moves some thousand keys to the file in a transaction of its own: between commits, never inside one. */
  flushStep(): void {
    if (this.#flush.keys !== undefined) return this.#flush.step();
    this.#flush.begin(this.#memtable);
    this.#memtable = new Memtable();
    this.#committedLength = 0;
    if (this.#keysInFilter > BLOOM_FILTER.keys) this.#replaceFilter();
  }

  #replaceFilter(): void {
    this.#lastUnfilteredSession = this.#lastSession;
    this.#filter = new BloomFilter(BLOOM_FILTER.bits);
    this.#keysInFilter = 0;
  }

  #mayBeKnown(key: Key): boolean {
    return key.session <= this.#lastUnfilteredSession || this.#filter.mayContain(mix(key));
  }

  #findFlushed(keys: readonly Key[]): readonly KeyEntry[] {
    if (keys.length === 0) return NO_KEYS;
    const values: number[] = [];
    for (const { session, hash, revision } of keys) values.push(session, hash, revision);
    return this.#selectFlushed.all(values);
  }

  #recover(db: Database): void {
    const unflushed = db.prepare<[], [number, string, number, number]>(
      `SELECT session, event_id, revision, seq ${UNFLUSHED}`,
    );
    for (const [session, eventId, revision, seq] of unflushed.raw().iterate()) {
      this.insert({ session, hash: this.hash(eventId), revision, seq });
    }
    this.committed();
  }
}

function matchingSeqs({ session, hash, revision }: Key, keys: readonly KeyEntry[]): number[] {
  return keys
    .filter((key) => key.hash === hash && key.revision === revision && key.session === session)
    .map(({ seq }) => seq);
}
