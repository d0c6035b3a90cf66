import type { Database, Statement } from 'better-sqlite3';
import { READ_CHUNK_BYTES } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/courtEvent.ts';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';
import { ARRIVAL_COLUMNS, ArrivalDecoder, type ArrivalRow, type DecodedEvent } from './arrivalRow.ts';
import { Damage } from './damage.ts';

/** Rows that `tail` scans in one transaction for those that pass its filter: a few milliseconds. */
export const ARRIVALS_SCAN_ROWS = 20_000;

/** Which events; absent: all. */
export interface ArrivalFilter {
  readonly session?: string | undefined;
  readonly type?: string | undefined;
  readonly court?: string | undefined;
  readonly source?: string | undefined;
}

/** Their columns, and the members of an event. */
const FILTERED = {
  session: ['s.name', 'sessionId'],
  type: ['o.type', 'type'],
  court: ['o.court', 'courtId'],
  source: ['o.source', 'source'],
} as const;

/** The events after some seq, as of one moment. */
export interface ArrivalChunk {
  /** Those that pass the filter, in the order of arrival. */
  readonly events: readonly DecodedEvent[];
  /** Events that were left out, whatever the filter, because a damaged event may be of any court. */
  readonly damage: Damage;
  /** Every event up to this seq has been considered: the next chunk begins after it. */
  readonly upTo: number;
  /** The highest seq that was ever assigned. There are holes: the seqs of duplicates, and of rolled back events. */
  readonly lastSeq: number;
  /** Whether no later event is stored. */
  readonly isLast: boolean;
  /** The highest seq whose event was pruned; 0: none. */
  readonly prunedSeq: number;
  /** To which log these seqs belong (epochs.ts). */
  readonly epochs: readonly Epoch[];
}

/** What there is to read after some seq. */
interface State extends Pick<ArrivalChunk, 'lastSeq' | 'prunedSeq'> {
  /** The first seq after it, and the last one of all; null: none. */
  readonly first: number | null;
  readonly newest: number | null;
}

/**
 * Reads events in the order of arrival, by seq, in chunks. Each is one short transaction, bounded in rows and bytes, so that the
 * WAL is never pinned for long; between two chunks the only state is the seq that the caller has.
 *
 * No event is stored later with a lower seq. The only writer assigns seqs inside the transaction that stores the events, each
 * higher than all before it, and commits one transaction after another; a rollback leaves a hole that nothing fills. So a reader
 * that continues after the last seq that it has read gets every event once.
 */
export class ArrivalReader {
  readonly #db: Database;
  readonly #filter: ArrivalFilter;
  readonly #filtered: readonly (keyof ArrivalFilter)[];
  readonly #decoder: ArrivalDecoder;
  readonly #state: Statement<[number], State>;
  readonly #rows: Statement<[object], ArrivalRow>;

  constructor(db: Database, filter: ArrivalFilter = {}) {
    this.#db = db;
    this.#filter = filter;
    const names = Object.keys(FILTERED) as (keyof ArrivalFilter)[];
    this.#filtered = names.filter((name) => filter[name] !== undefined);
    this.#decoder = new ArrivalDecoder(db);
    this.#state = db.prepare(`
      SELECT ${LAST_GIVEN_SEQ} AS lastSeq, (SELECT up_to_seq FROM pruned) AS prunedSeq,
             (SELECT seq FROM event WHERE seq > ? ORDER BY seq LIMIT 1) AS first, (SELECT max(seq) FROM event) AS newest`);
    const rows = `SELECT ${ARRIVAL_COLUMNS} FROM event e WHERE e.seq > @after AND e.seq <= @upTo ORDER BY e.seq LIMIT @limit`;
    this.#rows = db.prepare<[object], ArrivalRow>(rows).raw();
  }

  /**
   * @param seq what was read last; 0: nothing.
   * @param limit events at the most; fewer if they are large.
   * @param damage takes the damaged events, which are left out; absent: one of the chunk's own.
   */
  after(seq: number, limit: number, damage = new Damage()): ArrivalChunk {
    return this.#db.transaction(() => this.#chunk(seq, limit, damage))();
  }

  /** @see ArrivalChunk.lastSeq */
  get lastSeq(): number {
    return this.#state.get(0)!.lastSeq;
  }

  /** Looks back from the newest event, in short reads. @returns the seq after which the newest `count` events that pass the filter begin. */
  beforeNewest(count: number): number {
    const isWanted = this.#filtered.map((name) => `AND ${FILTERED[name][0]} = @${name}`);
    const latest = this.#db.prepare<[object], number>(`
      SELECT e.seq FROM event e CROSS JOIN session s ON s.id = e.session CROSS JOIN origin o ON o.id = e.origin
       WHERE e.seq > @after AND e.seq <= @upTo ${isWanted.join(' ')} ORDER BY e.seq DESC LIMIT @limit`);
    let upTo = this.#state.get(0)!.newest ?? 0;
    let left = count;
    while (left > 0 && upTo > 0) {
      const after = Math.max(0, upTo - ARRIVALS_SCAN_ROWS);
      const seqs = latest.pluck().all({ ...this.#filter, after, upTo, limit: left });
      left -= seqs.length;
      upTo = left > 0 ? after : seqs.at(-1)! - 1;
    }
    return upTo;
  }

  #chunk(after: number, limit: number, damage: Damage): ArrivalChunk {
    const { first, newest, ...seqs } = this.#state.get(after)!;
    const state = { ...seqs, epochs: readEpochs(this.#db) };
    if (first === null || newest === null)
      return { events: [], damage, upTo: Math.max(after, state.lastSeq), isLast: true, ...state };
    // Skips what was pruned.
    const bounds = { after: first - 1, upTo: Math.min(first - 1 + ARRIVALS_SCAN_ROWS, newest), limit };
    const events: DecodedEvent[] = [];
    let [bytes, rows, seen] = [0, 0, bounds.upTo];
    for (const row of this.#rows.iterate(bounds)) {
      const event = this.#decoder.event(row, damage);
      if (event !== undefined && this.#passes(event)) events.push(event);
      bytes += row[11].length + (row[12]?.length ?? 0);
      rows++;
      if (rows < limit && bytes <= READ_CHUNK_BYTES) continue;
      seen = row[0];
      break;
    }
    const isLast = seen >= newest;
    return { events, damage, upTo: isLast ? Math.max(seen, state.lastSeq) : seen, isLast, ...state };
  }

  #passes(event: Arrival): boolean {
    return this.#filtered.every((name) => event[FILTERED[name][1]] === this.#filter[name]);
  }
}
