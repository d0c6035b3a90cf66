import type { Database } from 'better-sqlite3';
import { READ_CHUNK_BYTES, READ_CHUNK_ROWS } from '../protocol/limits.ts';
import { type EventRow, SELECT_EVENT, type StoredEvent, toStoredEvent } from './events.ts';

/** What a reader leaves out; absent: nothing. */
export interface EventFilter {
  readonly type?: string;
  readonly court?: string;
  /** Nanoseconds since the epoch, inclusive. */
  readonly fromNs?: bigint;
  /** Nanoseconds since the epoch, exclusive. */
  readonly toNs?: bigint;
  /** Only the highest revision of each event. */
  readonly currentOnly?: boolean;
}

export interface ReadEvent extends StoredEvent {
  /** Whether this is the highest revision of its event that was stored when the reading began (design 2). */
  readonly current: boolean;
}

type Row = EventRow & { readonly current: 0 | 1 };

/** Above every eot_ns; below all of them with a minus. */
const END_NS = 2n ** 63n - 1n;

/**
 * Reads a session in the order of eot, then of arrival (design 2): what was stored when it began, no more.
 * Constant memory; a chunk at a time, so that the daemon's log is never pinned for long.
 * @param db a connection of its own: a temporary table is made in it.
 * @yields chunks of events that pass the filter, some of them empty, and how many rows were looked at.
 */
export function* readSession(
  db: Database,
  session: number,
  filter: EventFilter = {},
): Generator<{ readonly events: readonly ReadEvent[]; readonly scanned: number }> {
  const lastSeq = db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM event').pluck().get() ?? 0;
  noteLatest(db, session, lastSeq);
  const select = `${SELECT_EVENT.replace('FROM', ', e.revision >= coalesce(l.revision, 0) AS current FROM')}
      LEFT JOIN temp.latest l ON l.event_id = e.event_id WHERE e.session = @session AND e.seq <= @lastSeq`;
  // Two statements, because SQLite would step over all of one eot to find the rest of it.
  const restOfEot = db.prepare<object, Row>(
    `${select} AND e.eot_ns = @eotNs AND e.seq > @seq ORDER BY e.seq LIMIT @limit`,
  );
  const laterEot = db.prepare<object, Row>(
    `${select} AND e.eot_ns > @eotNs AND e.eot_ns < @toNs ORDER BY e.eot_ns, e.seq LIMIT @limit`,
  );
  const bounds = { session, lastSeq, toNs: filter.toNs ?? END_NS, limit: READ_CHUNK_ROWS };
  // Nothing is left of the eot before the first.
  let after = { eotNs: (filter.fromNs ?? 0n - END_NS) - 1n, seq: Number.MAX_SAFE_INTEGER };
  for (;;) {
    const rest = takeChunk(restOfEot.iterate({ ...bounds, ...after }));
    // Only when the eot has come to its end may later ones follow.
    const events = rest.length > 0 ? rest : takeChunk(laterEot.iterate({ ...bounds, eotNs: after.eotNs }));
    const last = events.at(-1);
    if (last === undefined) return;
    yield { events: events.filter((event) => passes(event, filter)), scanned: events.length };
    after = { eotNs: last.eotNs, seq: last.seq };
  }
}

/** Takes rows until there is enough, and lets go of the statement, which ends its hold on the log. */
function takeChunk(rows: IterableIterator<Row>): ReadEvent[] {
  const events: ReadEvent[] = [];
  let bytes = 0;
  for (const row of rows) {
    events.push({ ...toStoredEvent(row), current: Boolean(row.current) });
    bytes += row.payload.length + (row.extra?.length ?? 0);
    if (bytes > READ_CHUNK_BYTES) break;
  }
  return events;
}

function passes(event: ReadEvent, { type, court, currentOnly }: EventFilter): boolean {
  if (type !== undefined && event.type !== type) return false;
  if (court !== undefined && event.courtId !== court) return false;
  return event.current || currentOnly !== true;
}

/** The highest revision of each event that has more than revision 0, in a temporary table: on disk, not in memory. */
function noteLatest(db: Database, session: number, lastSeq: number): void {
  db.exec(`
    DROP TABLE IF EXISTS temp.latest;
    CREATE TEMP TABLE latest (event_id TEXT PRIMARY KEY, revision INTEGER) WITHOUT ROWID;
  `);
  const endOfChunk = db
    .prepare<[number, number, number], number | null>(`
      SELECT max(seq) FROM (SELECT seq FROM event INDEXED BY event_revised
       WHERE session = ? AND revision > 0 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ${READ_CHUNK_ROWS})`)
    .pluck();
  const note = db.prepare(`
    INSERT INTO temp.latest SELECT event_id, revision FROM event INDEXED BY event_revised
     WHERE session = ? AND revision > 0 AND seq > ? AND seq <= ?
    ON CONFLICT DO UPDATE SET revision = max(revision, excluded.revision)`);
  for (let after = 0; ; ) {
    const end = endOfChunk.get(session, after, lastSeq);
    if (end === undefined || end === null) return;
    note.run(session, after, end);
    after = end;
  }
}
