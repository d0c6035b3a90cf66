import type { Database } from 'better-sqlite3';
import { READ_CHUNK_BYTES, READ_CHUNK_ROWS } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/courtEvent.ts';
import { type EotHalves, msOf, nsOf } from '../db/checksum.ts';
import { LAST_GIVEN_SEQ } from '../db/epochs.ts';
import {
  ARRIVAL_COLUMNS,
  ArrivalDecoder,
  type ArrivalRow,
  type DecodedEvent,
  eventColumns,
} from './arrivalRow.ts';
import { Damage } from './damage.ts';

/** Which events to read; an absent member does not restrict them. */
export interface EventFilter {
  readonly type?: string | undefined;
  readonly court?: string | undefined;
  /** Nanoseconds since 1970-01-01T00:00:00Z, inclusive. */
  readonly fromNs?: bigint | undefined;
  /** Nanoseconds since 1970-01-01T00:00:00Z, exclusive. */
  readonly toNs?: bigint | undefined;
  /** Only the highest revision of each event. */
  readonly currentOnly?: boolean | undefined;
}

/** An event as readers get it. */
export interface ReadEvent extends Arrival, Pick<DecodedEvent, 'origin'> {
  /** Milliseconds since 1970-01-01T00:00:00Z; `eot` has the nanoseconds. */
  readonly eotMs: number;
  /** Whether this is the highest revision of its event that was stored when the read began. */
  readonly current: boolean;
}

/** Which events to read, and how. */
interface ReadOptions extends EventFilter {
  /** Takes the damaged events, and whether the session's count says that there are more. */
  readonly damage?: Damage;
  /** Called before the first chunk. */
  readonly onBegin?: (asOf: AsOf) => void;
}

/** The last event that a read has: nothing that the box received later. */
export interface AsOf {
  /** The last one of the box, of any session; 0: none. */
  readonly seq: number;
  /** When the read began: milliseconds since 1970-01-01T00:00:00Z. */
  readonly ms: number;
}

/** Some events of a session. */
interface SessionChunk {
  /** Those that pass the filter. */
  readonly events: readonly ReadEvent[];
  /** How many were considered. */
  readonly scanned: number;
}

/**
 * Reads a session by eot, then by arrival: the events that were stored when the read began, less those that
 * are pruned meanwhile. Sorts them in one read transaction, then reads a chunk of events at a time, so that the WAL is not pinned
 * for long.
 *
 * Every event of the session is verified, whatever the filter: a damaged one may be of any court and time. A row that does not match
 * its checksum is left out.
 * @param db a connection of its own: creates temporary tables in it.
 * @yields chunks, some of them without events.
 * @throws {SqliteError} if a page is damaged.
 */
export function* readSession(
  db: Database,
  session: number,
  { damage = new Damage(), onBegin, ...filter }: ReadOptions = {},
): Generator<SessionChunk> {
  const name = db.prepare<[number], string>('SELECT name FROM session WHERE id = ?').pluck();
  const sessionId = name.get(session) ?? '';
  const ms = Date.now();
  const { counted, lastSeq } = orderSession(db, session);
  onBegin?.({ seq: lastSeq, ms });
  let read = 0;
  for (const { events, rows } of readOrdered(db, damage, sessionId)) {
    read += rows;
    yield { events: events.filter((event) => passes(event, filter)), scanned: rows };
  }
  const left = read === counted ? counted : countLeft(db, session, lastSeq);
  // A prune makes the count go down meanwhile, and events that come do not count.
  if (read < left || read > Math.max(counted, left))
    damage.miscount(sessionId, read < left ? left : counted, read);
}

/** Makes the temporary tables that `readOrdered` reads: the seqs, in order, and the revisions above 0 among their events. */
export function makeOrder(db: Database): void {
  db.exec(`
    DROP TABLE IF EXISTS temp.ordered;
    CREATE TEMP TABLE ordered (place INTEGER PRIMARY KEY, seq INTEGER);
    DROP TABLE IF EXISTS temp.revised;
    CREATE TEMP TABLE revised (event_id TEXT, revision INTEGER, PRIMARY KEY (event_id, revision)) WITHOUT ROWID`);
}

/** @returns how many events the session counts, and the highest seq of all sessions. */
function orderSession(db: Database, session: number): { counted: number; lastSeq: number } {
  makeOrder(db);
  const count = db.prepare<[number], number>('SELECT events FROM session_total WHERE id = ?').pluck();
  const last = db.prepare<[], number>(`SELECT ${LAST_GIVEN_SEQ}`).pluck();
  const order = db.prepare(`
    INSERT INTO temp.ordered (seq)
    SELECT e.seq FROM session_event k CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session
     WHERE k.session = ? ORDER BY e.eot_ns, e.seq`);
  const revise = db.prepare(`
    INSERT OR IGNORE INTO temp.revised
    SELECT e.event_id, e.revision FROM temp.ordered o CROSS JOIN event e ON e.seq = o.seq WHERE e.revision > 0`);
  return db.transaction(() => {
    order.run(session);
    revise.run();
    return { counted: count.get(session) ?? 0, lastSeq: last.get() ?? 0 };
  })();
}

/** @returns how many events the session counts now, without those that came after `lastSeq`. */
function countLeft(db: Database, session: number, lastSeq: number): number {
  const left = db.prepare<[number, number, number], number>(`
    SELECT ifnull((SELECT events FROM session_total WHERE id = ?), 0) -
           (SELECT count(*) FROM event WHERE seq > ? AND session = ?)`);
  return left.pluck().get(session, lastSeq, session)!;
}

type OrderedEvent = ReadEvent & EotHalves;

/** The columns of a row after those of an event. */
type OrderedRow = readonly [...event: ArrivalRow, place: number, isCurrent: number];
const [PLACE, IS_CURRENT] = [14, 15] as const;

/**
 * Reads the events of `makeOrder`, verified, a chunk at a time. @param sessionId of all of them; absent: each has its own.
 * @yields with each chunk how many rows were found.
 */
export function* readOrdered(
  db: Database,
  damage: Damage,
  sessionId?: string,
): Generator<{ events: OrderedEvent[]; rows: number }> {
  const decoder = new ArrivalDecoder(db);
  const columns = sessionId === undefined ? ARRIVAL_COLUMNS : eventColumns('NULL');
  const find = db
    .prepare<[number], OrderedRow>(`
      SELECT ${columns}, o.place,
             NOT EXISTS (SELECT 1 FROM temp.revised h WHERE h.event_id = e.event_id AND h.revision > e.revision)
        FROM temp.ordered o CROSS JOIN event e ON e.seq = o.seq
       WHERE o.place > ? ORDER BY o.place LIMIT ${READ_CHUNK_ROWS}`)
    .raw();
  let lastSeq = 0;
  const readChunk = db.transaction((after: number) => {
    const events: OrderedEvent[] = [];
    let [place, bytes, rows] = [after, 0, 0];
    for (const row of find.iterate(after)) {
      place = row[PLACE];
      // A damaged page may lead to an event twice.
      if (row[0] === lastSeq) continue;
      lastSeq = row[0];
      rows++;
      const event = decoder.event(row as unknown as ArrivalRow, damage, sessionId);
      if (event === undefined) continue;
      events.push({ ...event, eotMs: msOf(event.eotHigh, event.eotLow), current: row[IS_CURRENT] === 1 });
      bytes += event.payload.length + (event.extra?.length ?? 0);
      if (bytes > READ_CHUNK_BYTES) break;
    }
    return { events, rows, place };
  });
  for (let after = 0; ; ) {
    const { events, rows, place } = readChunk(after);
    if (place === after) return;
    after = place;
    yield { events, rows };
  }
}

function passes(event: OrderedEvent, filter: EventFilter): boolean {
  const { type, court, fromNs, toNs, currentOnly } = filter;
  if (type !== undefined && event.type !== type) return false;
  if (court !== undefined && event.courtId !== court) return false;
  if (fromNs !== undefined && nsOf(event.eotHigh, event.eotLow) < fromNs) return false;
  if (toNs !== undefined && nsOf(event.eotHigh, event.eotLow) >= toNs) return false;
  return event.current || currentOnly !== true;
}
