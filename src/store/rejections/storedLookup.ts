import type { Database } from 'better-sqlite3';
import type { EventKey } from '../../protocol/bodyParts.ts';
import { keyHash } from '../layout/keyHash.ts';
import { identityOf } from './refusedIndex.ts';

/** Events that are read in one transaction: a few milliseconds. */
const CHUNK_EVENTS = 5_000;

interface ArrivedKey extends EventKey {
  readonly seq: number;
}

/** Whether events are stored, for those who read the database beside its writer. */
export class StoredLookup {
  readonly #flushed: () => number;
  readonly #find: (key: EventKey & { hash: Buffer }) => unknown;
  readonly #next: (after: number) => ArrivedKey[];
  readonly #newest = new Set<string>();

  /** @param db the database of events, to read. */
  constructor(db: Database) {
    const flushed = db.prepare<[], number>('SELECT up_to FROM flushed').pluck();
    const find = db.prepare<[object]>(`
      SELECT 1 FROM session s JOIN key k ON k.session = s.id JOIN event e ON e.seq = k.seq
       WHERE s.name = @sessionId AND k.hash = @hash AND k.revision = @revision AND e.event_id = @eventId`);
    const next = db.prepare<[number], ArrivedKey>(`
      SELECT e.seq, s.name AS sessionId, e.event_id AS eventId, e.revision
        FROM event e JOIN session s ON s.id = e.session
       WHERE e.seq > ? ORDER BY e.seq LIMIT ${CHUNK_EVENTS}`);
    this.#flushed = () => flushed.get() ?? 0;
    this.#find = (key) => find.get(key);
    this.#next = (after) => next.all(after);
  }

  /** Whether it is stored; of the newest events, whose keys are only in the daemon's memory, only what `readNewest` has read. */
  has(key: EventKey): boolean {
    if (this.#newest.size > 0 && this.#newest.has(identityOf(key))) return true;
    return this.#find({ ...key, hash: keyHash(key.eventId) }) !== undefined;
  }

  /** Reads the events whose keys are only in the daemon's memory (../write/keys.ts). */
  readNewest(): void {
    for (const arrived of this.arrivals(this.flushedUpTo))
      for (const key of arrived) this.#newest.add(identityOf(key));
  }

  /** The seq up to which keys are in the file. */
  get flushedUpTo(): number {
    return this.#flushed();
  }

  /** @yields what has arrived after a seq, each time read in a transaction of some milliseconds. */
  *arrivals(after: number): Generator<ArrivedKey[]> {
    for (let last = after; ; ) {
      const arrived = this.#next(last);
      if (arrived.length === 0) return;
      yield arrived;
      last = arrived.at(-1)!.seq;
    }
  }
}
