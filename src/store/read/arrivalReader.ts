import type { Database, Statement } from 'better-sqlite3';
import { READ_CHUNK_BYTES } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/courtEvent.ts';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';
import { ARRIVAL_COLUMNS, ArrivalDecoder, type ArrivalRow, type DecodedEvent } from './arrivalRow.ts';
import { Damage } from './damage.ts';

/** Rows that `tail` scans in one transaction for those that pass its filter: a few milliseconds. */
export const ARRIVALS_SCAN_ROWS = 20_000;
/** Page cache, in KiB: the file is read once, from start to end. */
const READ_CACHE_KIB = 2_000;

/** Which events; absent: all. */
export interface ArrivalFilter {
  readonly session?: string | undefined;
  readonly type?: string | undefined;
  readonly court?: string | undefined;
  readonly source?: string | undefined;
}

/** Their columns. */
const FILTERED = { session: 's.name', type: 'o.type', court: 'o.court', source: 'o.source' } as const;

/** The events after some seq, as of one moment. */
export interface ArrivalChunk {
  /** Those that pass the filter, in the order of arrival. */
  readonly events: readonly DecodedEvent[];
  /** Events that were left out, whatever the filter, because a damaged event may be of any court. */
  readonly damage: Damage;
  /** Every event up to this seq has been considered: the next chunk begins after it. */
  readonly upTo: number;
  /** The highest seq that was ever assigned. There are holes: the seqs of duplicates, and of what was rolled back. */
  readonly lastSeq: number;
  /** Whether no later event is stored. */
  readonly isLast: boolean;
  /** The highest seq whose event was pruned; 0: none. */
  readonly prunedSeq: number;
  /** To which log these seqs belong (epochs.ts). */
  readonly epochs: readonly Epoch[];
}

interface Bounds {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
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
  readonly #filter: ArrivalFilter;
  readonly #decoder: ArrivalDecoder;
  readonly #first: Statement<[number], number>;
  readonly #newest: Statement<[], number>;
  readonly #rows: Statement<[Bounds], ArrivalRow>;
  readonly #latest: Statement<[object], number>;
  readonly #lastGiven: Statement<[], number>;
  readonly #pruned: Statement<[], number>;
  readonly #read: (seq: number, limit: number, damage: Damage) => ArrivalChunk;

  constructor(db: Database, filter: ArrivalFilter = {}) {
    db.pragma(`cache_size = -${READ_CACHE_KIB}`);
    this.#filter = filter;
    this.#decoder = new ArrivalDecoder(db);
    const number = (sql: string) => db.prepare<unknown[], number>(sql).pluck();
    this.#first = number('SELECT seq FROM event WHERE seq > ? ORDER BY seq LIMIT 1');
    this.#newest = number('SELECT max(seq) FROM event');
    const between = 'e.seq > @after AND e.seq <= @upTo';
    this.#rows = db
      .prepare<[Bounds], ArrivalRow>(
        `SELECT ${ARRIVAL_COLUMNS} FROM event e WHERE ${between} ORDER BY e.seq LIMIT @limit`,
      )
      .raw();
    const isWanted = Object.entries(FILTERED).map(
      ([name, column]) => `ifnull(@${name}, ${column}) = ${column}`,
    );
    this.#latest = number(`
      SELECT e.seq FROM event e CROSS JOIN session s ON s.id = e.session CROSS JOIN origin o ON o.id = e.origin
       WHERE ${between} AND ${isWanted.join(' AND ')} ORDER BY e.seq DESC LIMIT @limit`);
    this.#lastGiven = number(`SELECT ${LAST_GIVEN_SEQ}`);
    this.#pruned = number('SELECT up_to_seq FROM pruned');
    this.#read = db.transaction((seq: number, limit: number, damage: Damage) =>
      this.#chunk(db, seq, limit, damage),
    );
  }

  /**
   * @param seq what was read last; 0: nothing.
   * @param limit events at the most; fewer if they are large.
   * @param damage takes the damaged events, which are left out; absent: one of the chunk's own.
   */
  after(seq: number, limit: number, damage = new Damage()): ArrivalChunk {
    return this.#read(seq, limit, damage);
  }

  /** @see ArrivalChunk.lastSeq */
  get lastSeq(): number {
    return this.#lastGiven.get() ?? 0;
  }

  /** @see ArrivalChunk.prunedSeq */
  get prunedSeq(): number {
    return this.#pruned.get() ?? 0;
  }

  /** Looks back from the newest event, in short reads. @returns the seq after which the newest `count` events that pass the filter begin. */
  beforeNewest(count: number): number {
    let upTo = this.#newest.get() ?? 0;
    let left = count;
    const { session = null, type = null, court = null, source = null } = this.#filter;
    while (left > 0 && upTo > 0) {
      const after = Math.max(0, upTo - ARRIVALS_SCAN_ROWS);
      const seqs = this.#latest.all({ session, type, court, source, after, upTo, limit: left });
      left -= seqs.length;
      upTo = left > 0 ? after : seqs.at(-1)! - 1;
    }
    return upTo;
  }

  #chunk(db: Database, after: number, limit: number, damage: Damage): ArrivalChunk {
    const state = {
      lastSeq: this.lastSeq,
      prunedSeq: this.prunedSeq,
      epochs: readEpochs(db),
    };
    // Skips what was pruned.
    const first = this.#first.get(after);
    if (first === undefined)
      return { events: [], damage, upTo: beyond(after, state), isLast: true, ...state };
    const newest = this.#newest.get() ?? first;
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
    return { events, damage, upTo: isLast ? beyond(seen, state) : seen, isLast, ...state };
  }

  #passes({ sessionId, type, courtId, source }: Arrival): boolean {
    const { session, type: wanted, court, source: from } = this.#filter;
    return (
      (session ?? sessionId) === sessionId &&
      (wanted ?? type) === type &&
      (court ?? courtId) === courtId &&
      (from ?? source) === source
    );
  }
}

/** @returns the position of a reader that has read the last event. */
function beyond(seen: number, { lastSeq, prunedSeq }: Pick<ArrivalChunk, 'lastSeq' | 'prunedSeq'>): number {
  return lastSeq > prunedSeq ? Math.max(seen, lastSeq) : seen;
}
