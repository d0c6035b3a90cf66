import type { Database } from 'better-sqlite3';
import { READ_CHUNK_ROWS } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/courtEvent.ts';
import { LAST_GIVEN_SEQ } from '../db/epochs.ts';
import { Damage } from './damage.ts';
import { chunkOf, EVENT_COLUMNS, EVENTS, type StoredEvent } from './storedEvent.ts';

/** Which events to read; an absent member does not restrict them. Times are nanoseconds since 1970-01-01T00:00:00Z. */
export interface EventFilter {
  readonly type?: string | undefined;
  readonly court?: string | undefined;
  /** Inclusive. */
  readonly from?: bigint | undefined;
  /** Exclusive. */
  readonly to?: bigint | undefined;
  /** Only the highest revision of each event. */
  readonly current?: boolean | undefined;
}

/** An event as readers get it. */
export interface ReadEvent extends Arrival {
  /** Milliseconds since 1970-01-01T00:00:00Z; `eot` has the nanoseconds. */
  readonly eotMs: number;
  /** Whether this is the highest revision of its event that was stored when the read began. */
  readonly current: boolean;
}

/** The last event that a read has: nothing that the box received later. */
export interface AsOf {
  /** The last one of the box, of any session; 0: none. */
  readonly seq: number;
  /** When the read began: milliseconds since 1970-01-01T00:00:00Z. */
  readonly ms: number;
}

/**
 * Reads a session: the events that are stored now, less those that are pruned meanwhile. Sorts them at once in one read transaction,
 * then reads a chunk of events at a time, so that the WAL is not pinned for long. Every event is verified, whatever the filter: a
 * damaged one may be of any court and time.
 * @param db a connection of its own: creates a temporary table in it.
 * @param damage takes the damaged events, which are left out, and whether the session counts others than there are.
 * @returns `chunks` of the events that pass the filter, by eot, then by arrival; some have none.
 * @throws {SqliteError} if a page is damaged, also from `chunks`.
 */
export function readSession(db: Database, session: number, filter: EventFilter = {}, damage = new Damage()) {
  const ms = Date.now();
  const { name, counted, found, seq } = db.transaction(() => {
    const look = db.prepare<[number], { name: string; counted: number; seq: number }>(`
      SELECT ifnull(name, '') AS name, ifnull(events, 0) AS counted, ${LAST_GIVEN_SEQ} AS seq
        FROM (SELECT ? AS session) LEFT JOIN session_total ON id = session`);
    const found = order(db, SESSION_EVENTS, session) - db.prepare<[], number>(TWICE).pluck().get()!;
    return { ...look.get(session)!, found };
  })();
  if (found !== counted) damage.miscount(name, counted, found);
  const chunks = readOrdered(db, damage).map((events) => events.filter((event) => passes(event, filter)));
  return { asOf: { seq, ms }, chunks };
}

/** A damaged key may lead to an event twice, or to none: then it has been stored again, and `current` of the first one is -1. */
const SESSION_EVENTS = `
  SELECT seq, eot_ns, iif(next = revision, -1, next IS NULL) AS current FROM (
    SELECT e.seq, e.eot_ns, e.revision, lead(e.revision) OVER (PARTITION BY e.event_id ORDER BY e.revision, e.seq) AS next
      FROM (SELECT DISTINCT session, seq FROM session_event WHERE session = ?) k
     CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session)`;
const TWICE = 'SELECT count(*) FROM temp.ordered WHERE current < 0';

/**
 * Puts events into the temporary table that `readOrdered` reads. @param select gives `seq`, `eot_ns` and `current` of each.
 * @returns how many.
 */
export function order(db: Database, select: string, ...values: (number | string)[]): number {
  db.exec(`
    DROP TABLE IF EXISTS temp.ordered;
    CREATE TEMP TABLE ordered (place INTEGER PRIMARY KEY, seq INTEGER, current INTEGER)`);
  const insert = db.prepare(
    `INSERT INTO temp.ordered (seq, current) SELECT seq, current FROM (${select}) ORDER BY eot_ns, seq`,
  );
  return insert.run(...values).changes;
}

type OrderedEvent = ReadEvent & StoredEvent;

/** Rounded down: a division of integers rounds a time before 1970 up. 2^6 * 15,625 ns are 1 ms. */
const EOT_MS = '((e.eot_ns >> 6) - 15624 * (e.eot_ns < 0)) / 15625';

/** @yields the events of `order`, verified, a chunk at a time. */
export function* readOrdered(db: Database, damage: Damage): Generator<OrderedEvent[]> {
  const find = db.prepare<[number], StoredEvent & Record<'place' | 'current' | 'eotMs', number>>(`
    SELECT ${EVENT_COLUMNS}, ${EOT_MS} AS eotMs, t.place, t.current FROM temp.ordered t CROSS JOIN ${EVENTS}
     WHERE e.seq = t.seq AND t.place > ? ORDER BY t.place LIMIT ${READ_CHUNK_ROWS}`);
  for (let place = 0; ; ) {
    const { events, last } = chunkOf(find.iterate(place), damage);
    if (last === undefined) return;
    place = last.place;
    yield events.map((event) => ({ ...event, current: event.current === 1 }));
  }
}

function passes(event: OrderedEvent, filter: EventFilter): boolean {
  const { type, court, from, to, current } = filter;
  if (type !== undefined && event.type !== type) return false;
  if (court !== undefined && event.courtId !== court) return false;
  if (from !== undefined && BigInt(event.eotDigits) < from) return false;
  if (to !== undefined && BigInt(event.eotDigits) >= to) return false;
  return event.current || current !== true;
}
