import type { Database, Statement } from 'better-sqlite3';
import { ARRIVALS_SCAN_ROWS, READ_CHUNK_BYTES } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/event.ts';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../layout/epochs.ts';
import { namesMissing, OriginReader } from '../layout/origins.ts';
import { INLINE_TEXTS, type Texts, textReader } from '../layout/storedEvent.ts';

/** Page cache, in KiB: the file is read once, from start to end. */
const READ_CACHE_KIB = 2_000;

/** Which events; absent: all. */
export interface ArrivalFilter {
  readonly session?: string | undefined;
  readonly type?: string | undefined;
  readonly court?: string | undefined;
  readonly source?: string | undefined;
}

/** The events after some seq, as of one moment. */
export interface ArrivalChunk {
  /** Those that pass the filter, in the order of arrival. */
  readonly events: readonly Arrival[];
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

type Bounds = ArrivalFilter & { readonly after: number; readonly upTo: number; readonly limit: number };

/** In the order of ROW. */
type Row = readonly [
  seq: number,
  sessionId: string | null,
  eventId: string,
  revision: number,
  eot: string,
  origin: number,
  confidence: number,
  receivedMs: number,
  payload: string | null,
  extra: string | null,
];

const ROW = `
  e.seq, (SELECT name FROM session WHERE id = e.session), e.event_id, e.revision, e.eot, e.origin, e.confidence, e.received_ms,
  ${INLINE_TEXTS}`;

/**
 * Reads events in the order of arrival, by seq, in chunks. Each is one short transaction, bounded in rows and bytes, so that the
 * WAL is never pinned for long; between two of them the only state is the seq that the caller has.
 *
 * No event is stored later with a lower seq. The only writer assigns seqs inside the transaction that stores the events, each
 * higher than all before it, and commits one transaction after another; a rollback leaves a hole that nothing fills. So whoever
 * continues after the last seq that it has read gets every event once.
 */
export class ArrivalReader {
  readonly #filter: ArrivalFilter;
  readonly #origins: OriginReader;
  readonly #first: Statement<[number], number>;
  readonly #newest: Statement<[], number>;
  readonly #rows: Statement<[Bounds], Row>;
  readonly #range: Statement<[number, number], Row>;
  readonly #one: Statement<[number], Row>;
  readonly #latest: Statement<[Bounds], number>;
  readonly #textsOf: ReturnType<typeof textReader>;
  readonly #lastGiven: Statement<[], number>;
  readonly #pruned: Statement<[], number>;
  readonly #read: (seq: number, limit: number) => ArrivalChunk;

  constructor(db: Database, filter: ArrivalFilter = {}) {
    db.pragma(`cache_size = -${READ_CACHE_KIB}`);
    this.#filter = filter;
    this.#origins = new OriginReader(db);
    const number = (sql: string) => db.prepare<unknown[], number>(sql).pluck();
    this.#first = number('SELECT seq FROM event WHERE seq > ? ORDER BY seq LIMIT 1');
    this.#newest = number('SELECT max(seq) FROM event');
    const where = `FROM event e WHERE e.seq > @after AND e.seq <= @upTo${conditionsOf(filter)} ORDER BY e.seq`;
    this.#rows = db.prepare<[Bounds], Row>(`SELECT ${ROW} ${where} LIMIT @limit`).raw();
    // Without a look at what is before or behind, which may be damaged.
    this.#range = db.prepare<[number, number], Row>(
      `SELECT ${ROW} FROM event e WHERE e.seq BETWEEN ? AND ? ORDER BY e.seq`,
    );
    this.#one = db.prepare<[number], Row>(`SELECT ${ROW} FROM event e WHERE e.seq = ?`);
    for (const statement of [this.#range, this.#one]) statement.raw();
    this.#latest = number(`SELECT e.seq ${where} DESC LIMIT @limit`);
    this.#textsOf = textReader(db);
    this.#lastGiven = number(`SELECT ${LAST_GIVEN_SEQ}`);
    this.#pruned = number('SELECT up_to_seq FROM pruned');
    this.#read = db.transaction((seq: number, limit: number) => this.#chunk(db, seq, limit));
  }

  /**
   * @param seq what was read last; 0: nothing.
   * @param limit events at the most; fewer where they are large.
   */
  after(seq: number, limit: number): ArrivalChunk {
    return this.#read(seq, limit);
  }

  /**
   * For a damaged database: nothing else is read.
   * @returns the events of these seqs, fewer where they are large, and the seq up to which they are all there.
   * @throws where one of them, or its neighbour, cannot be read.
   */
  between(from: number, to: number): Pick<ArrivalChunk, 'events' | 'upTo'> {
    const events: Arrival[] = [];
    let bytes = 0;
    for (const row of this.#range.all(from, to)) {
      if (bytes > READ_CHUNK_BYTES) return { events, upTo: events.at(-1)!.seq };
      const texts = this.#textsOf(row[0], row[8], row[9]);
      events.push(this.#event(row, texts));
      bytes += texts.payload.length + (texts.extra?.length ?? 0);
    }
    return { events, upTo: to };
  }

  /** @returns the event with this seq; undefined where there is none. @throws where it cannot be read. */
  one(seq: number): Arrival | undefined {
    const row = this.#one.get(seq);
    return row && this.#event(row, this.#textsOf(seq, row[8], row[9]));
  }

  /**
   * Looks back from the newest event, a few milliseconds at a time.
   * @yields after each look, as far as is known by then, the seq after which the newest `count` events that pass the filter begin.
   */
  *beforeNewest(count: number): Generator<number> {
    let upTo = this.#newest.get() ?? 0;
    let left = count;
    while (left > 0 && upTo > 0) {
      const after = Math.max(0, upTo - ARRIVALS_SCAN_ROWS);
      const seqs = this.#latest.all({ ...this.#filter, after, upTo, limit: left });
      left -= seqs.length;
      upTo = left > 0 ? after : seqs.at(-1)! - 1;
      yield upTo;
    }
  }

  #chunk(db: Database, after: number, limit: number): ArrivalChunk {
    const state = {
      lastSeq: this.#lastGiven.get() ?? 0,
      prunedSeq: this.#pruned.get() ?? 0,
      epochs: readEpochs(db),
    };
    // Skips what was pruned.
    const first = this.#first.get(after);
    if (first === undefined) return { events: [], upTo: after, isLast: true, ...state };
    const newest = this.#newest.get() ?? first;
    const upTo = Math.min(first + ARRIVALS_SCAN_ROWS - 1, newest);
    const rows = this.#rows.all({ ...this.#filter, after: first - 1, upTo, limit });
    const events: Arrival[] = [];
    let bytes = 0;
    for (const row of rows) {
      if (bytes > READ_CHUNK_BYTES) break;
      const texts = this.#textsOf(row[0], row[8], row[9]);
      events.push(this.#event(row, texts));
      bytes += texts.payload.length + (texts.extra?.length ?? 0);
    }
    const isWhole = rows.length < limit && events.length === rows.length;
    const seen = isWhole ? upTo : events.at(-1)!.seq;
    return { events, upTo: seen, isLast: seen >= newest, ...state };
  }

  #event(row: Row, { payload, extra }: Texts): Arrival {
    const { type, courtId, venueId, source, schemaVersion } = this.#origins.names(row[5]);
    const sessionId = row[1];
    if (sessionId === null) throw namesMissing();
    return {
      seq: row[0],
      sessionId,
      eventId: row[2],
      revision: row[3],
      eot: row[4],
      type,
      courtId,
      venueId,
      confidence: row[6],
      source,
      schemaVersion,
      receivedMs: row[7],
      payload,
      extra,
    };
  }
}

const ORIGIN_COLUMNS = { type: 'type', court: 'court', source: 'source' } as const;

/** Looks names up in each statement: new ones may arrive, and a pruned one may return with another id. */
function conditionsOf(filter: ArrivalFilter): string {
  const origin = Object.entries(ORIGIN_COLUMNS)
    .filter(([name]) => filter[name as keyof ArrivalFilter] !== undefined)
    .map(([name, column]) => `${column} = @${name}`);
  const session = 'e.session = (SELECT id FROM session WHERE name = @session)';
  const conditions = [
    ...(filter.session === undefined ? [] : [session]),
    ...(origin.length === 0 ? [] : [`e.origin IN (SELECT id FROM origin WHERE ${origin.join(' AND ')})`]),
  ];
  return conditions.map((condition) => ` AND ${condition}`).join('');
}
