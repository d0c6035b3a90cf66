import type { Database } from 'better-sqlite3';
import { inChunks, MultiRowStatement } from '../sqlite/multiRowStatement.ts';
import { BloomFilter } from './bloomFilter.ts';
import { Flush } from './flush.ts';
import { type KeyHash, readKeyHash } from './keyHash.ts';
import { FLUSH_STEP_KEYS, type Key, type KeyEntry, Memtable, mix } from './memtable.ts';

/** Keys in the memtable at which a flush begins. As many again may arrive while it runs. */
export const MEMTABLE_KEYS = 200_000;
/**
 * With so many keys in the filter, 6 look-ups in 100 are false positives, and a new filter replaces it. A false
 * positive costs a query: 3 us an event instead of 0.4 (measured).
 */
const FILTER_KEYS = 4_000_000;

/** SQL: the events whose keys are not in the table `key` yet. A start reads them back into the memtable. */
export const UNFLUSHED = 'FROM event WHERE seq > (SELECT up_to_seq FROM flushed)';

const NO_SEQS: readonly number[] = [];

/**
 * The set of all stored event keys, without a time window. It maps (session, hash of the event_id, revision)
 * to the seqs of the events that may have that key: the newest keys in a memtable, the others in the table
 * `key`. Whether such an event exists, and is the same one, only its row decides (arbiter.ts).
 *
 * DESIGN.md explains the structure, its bounds and what a crash leaves behind.
 *
 * It is exact only in the one process that writes (directoryLock.ts). Other processes read the tables.
 */
export class DedupIndex {
  readonly hash: KeyHash;
  readonly #selectFlushed: MultiRowStatement<KeyEntry>;
  readonly #flush: Flush;
  /**
   * Session ids grow. The filter holds every key of the sessions with a higher id than this; for the others
   * the table is always queried.
   */
  #lastUnfilteredSession: number;
  #lastSession: number;
  #filter = new BloomFilter();
  #keysInFilter = 0;
  /** The keys that arrived since the last flush began. Those of a flush in progress are in `#flush.keys`. */
  #memtable = new Memtable();
  /** The length of the memtable at the last commit: a rollback truncates it to this. */
  #committedLength = 0;

  /** Reads the keys of unflushed events back into the memtable. */
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

  /** Keys in memory, including those of a flush in progress. */
  get count(): number {
    return this.#memtable.length + (this.#flush.keys?.length ?? 0);
  }

  /**
   * Inserts every key that is certainly new. Call it inside the transaction that stores the events.
   * @returns for each key the seqs of the events that may have it; empty where the key was new and has been
   * inserted.
   */
  findOrInsert(keys: readonly KeyEntry[]): (readonly number[])[] {
    const seqs = new Array<readonly number[]>(keys.length).fill(NO_SEQS);
    // The filter is asked once for each key, in order: of two equal keys the second finds the first in it.
    const suspects: number[] = [];
    for (let i = 0; i < keys.length; i++) {
      if (this.#mayBeKnown(keys[i]!)) suspects.push(i);
      else this.insert(keys[i]!);
    }
    for (const some of inChunks(suspects)) {
      const flushed = this.#findFlushed(some.map((i) => keys[i]!));
      for (const i of some) {
        const key = keys[i]!;
        const found = [...this.findInMemory(key), ...matchingSeqs(key, flushed)];
        if (found.length === 0) this.insert(key);
        else seqs[i] = found;
      }
    }
    return seqs;
  }

  /** Inserts a key, even where the index has an equal one: two event_ids may share a hash. */
  insert(key: KeyEntry): void {
    this.#memtable.add(key);
    this.#filter.add(mix(key));
    this.#keysInFilter++;
    if (key.session > this.#lastSession) this.#lastSession = key.session;
  }

  /** @returns the seqs of the events that may have this key, of those whose keys are in memory. */
  findInMemory(key: Key): readonly number[] {
    const live = this.#memtable.find(key);
    const flushing = this.#flush.keys?.find(key);
    return flushing === undefined || flushing.length === 0 ? live : [...live, ...flushing];
  }

  /** Call it after the transaction has been committed. */
  committed(): void {
    this.#committedLength = this.#memtable.length;
  }

  /** Removes the keys that were inserted since the last commit. */
  rolledBack(): void {
    this.#memtable.truncate(this.#committedLength);
  }

  /** Whether a flush is in progress. */
  get isFlushing(): boolean {
    return this.#flush.keys !== undefined;
  }

  /** Whether a flush should begin or go on. One that was begun with fewer keys may take its time. */
  get isFlushDue(): boolean {
    return this.count >= MEMTABLE_KEYS;
  }

  /**
   * Begins a flush, or writes the next keys of it in a transaction of their own. Call it between commits, never
   * inside a transaction.
   * @param most how many of them.
   * @throws {SqliteError} where a step fails; calling again repeats that step.
   */
  flushStep(most = FLUSH_STEP_KEYS): void {
    if (this.isFlushing) return this.#flush.step(most);
    if (this.#memtable.length === 0) return;
    this.#flush.begin(this.#memtable);
    this.#memtable = new Memtable();
    this.#committedLength = 0;
    if (this.#keysInFilter <= FILTER_KEYS) return;
    this.#lastUnfilteredSession = this.#lastSession;
    this.#filter = new BloomFilter();
    this.#keysInFilter = 0;
  }

  #mayBeKnown(key: Key): boolean {
    return key.session <= this.#lastUnfilteredSession || this.#filter.mayContain(mix(key));
  }

  #findFlushed(keys: readonly Key[]): readonly KeyEntry[] {
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
