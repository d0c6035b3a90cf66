import type { Database } from 'better-sqlite3';
import {
  READ_CACHE_KIB,
  READ_CHUNK_BYTES,
  READ_CHUNK_ROWS,
  READ_WITH_ROW_BYTES,
} from '../protocol/limits.ts';
import type { StoredEvent } from './events.ts';
import { LatestRevisions } from './latest.ts';
import { noteOrder } from './order.ts';
import { type OriginNames, OriginReader } from './origins.ts';

/** What a reader leaves out; absent: nothing. */
export interface EventFilter {
  readonly type?: string;
  readonly court?: string;
  /** Nanoseconds since the epoch, inclusive. */
  readonly fromNs?: bigint;
  /** Nanoseconds since the epoch, exclusive. */
  readonly toNs?: bigint;
  /** When it came, milliseconds since the epoch, inclusive. */
  readonly receivedFromMs?: number;
  /** Milliseconds since the epoch, exclusive. */
  readonly receivedToMs?: number;
  /** Only the highest revision of each event. */
  readonly currentOnly?: boolean;
}

export interface ReadEvent extends Omit<StoredEvent, 'eotNs'> {
  /** The number of its names: events of one origin have type, court, venue, source and schema version in common. */
  readonly origin: number;
  /** Milliseconds since 1970-01-01T00:00:00Z; the nanoseconds are in `eot`. */
  readonly eotMs: number;
  /** Whether this is the highest revision of its event that was stored when the reading began (design 2). */
  readonly current: boolean;
}

/** In the order of SELECT. `eot_ns` comes in two parts, because a JavaScript number cannot hold it. */
type Row = readonly [
  seq: number,
  eventId: string,
  revision: number,
  eot: string,
  eotMs: number,
  eotRestNs: number,
  origin: number,
  confidence: number,
  receivedMs: number,
  payload: string | null,
  extra: string | null,
];

type Texts = Pick<StoredEvent, 'payload' | 'extra'>;

const COMES_WITH_ROW = `octet_length(e.payload) + ifnull(octet_length(e.extra), 0) <= ${READ_WITH_ROW_BYTES}`;

/**
 * Names by their number: with a text for each name in each row, reading took a third longer. Large texts come afterwards, one
 * by one, so that rows can be taken all at once and are bounded nevertheless: taking each alone took half as long again.
 */
const CHUNK = `
  SELECT e.seq, e.event_id, e.revision, e.eot, e.eot_ns / 1000000, e.eot_ns % 1000000, e.origin, e.confidence,
         e.received_ms, iif(${COMES_WITH_ROW}, e.payload, NULL), iif(${COMES_WITH_ROW}, e.extra, NULL)
    FROM (SELECT eot_ns, seq FROM temp.in_order
           WHERE session = @session AND (eot_ns, seq) > (@eotNs, @seq) AND eot_ns < @toNs
           ORDER BY eot_ns, seq LIMIT ${READ_CHUNK_ROWS}) o
   CROSS JOIN event e ON e.seq = o.seq
   ORDER BY o.eot_ns, o.seq`;

const NS_PER_MS = 1_000_000n;

/** Above every eot_ns; below all of them with a minus. */
const END_NS = 2n ** 63n - 1n;

/**
 * Reads a session in the order of eot, then of arrival (design 2): what was stored when it began, no more.
 * Constant memory; a chunk at a time, so that the daemon's log is never pinned for long.
 * @param db a connection of its own: temporary tables are made in it.
 * @yields chunks of events that pass the filter, some of them empty, and how many rows were looked at.
 */
export function* readSession(
  db: Database,
  session: number,
  filter: EventFilter = {},
): Generator<{ readonly events: readonly ReadEvent[]; readonly scanned: number }> {
  const lastSeq = noteOrder(db);
  // It goes through the file once.
  db.pragma(`cache_size = -${READ_CACHE_KIB}`);
  const latest = new LatestRevisions(db, session, lastSeq);
  const name = db.prepare<[number], string>('SELECT name FROM session WHERE id = ?').pluck();
  const sessionId = name.get(session) ?? '';
  const origins = new OriginReader(db);
  const chunk = db.prepare<object, Row>(CHUNK).raw();
  const bounds = { session, toNs: filter.toNs ?? END_NS };
  // Nothing is left of the eot before the first.
  let after = { eotNs: (filter.fromNs ?? 0n - END_NS) - 1n, seq: Number.MAX_SAFE_INTEGER };
  const large = db.prepare<[number], Texts>('SELECT payload, extra FROM event WHERE seq = ?');
  const take = db.transaction((): Chunk => {
    const rows = chunk.all({ ...bounds, ...after });
    const events: Draft[] = [];
    for (let bytes = 0; events.length < rows.length && bytes <= READ_CHUNK_BYTES; ) {
      const row = rows[events.length]!;
      const texts = row[9] === null ? large.get(row[0])! : { payload: row[9], extra: row[10] };
      events.push(toReadEvent(row, texts, sessionId, origins.names(row[6])));
      bytes += texts.payload.length + (texts.extra?.length ?? 0);
    }
    return { events, last: rows[events.length - 1] };
  });
  for (;;) {
    const { events, last } = take();
    if (last === undefined) return;
    latest.mark(events);
    yield { events: events.filter((event) => passes(event, filter)), scanned: events.length };
    after = { eotNs: BigInt(last[4]) * NS_PER_MS + BigInt(last[5]), seq: last[0] };
  }
}

interface Chunk {
  readonly events: readonly Draft[];
  readonly last: Row | undefined;
}

/** `current` is told later. */
type Draft = Omit<ReadEvent, 'current'> & { current: boolean };

function toReadEvent(row: Row, { payload, extra }: Texts, sessionId: string, names: OriginNames): Draft {
  return {
    seq: row[0],
    sessionId,
    eventId: row[1],
    revision: row[2],
    eot: row[3],
    eotMs: row[4],
    origin: row[6],
    type: names.type,
    courtId: names.courtId,
    venueId: names.venueId,
    confidence: row[7],
    source: names.source,
    schemaVersion: names.schemaVersion,
    receivedMs: row[8],
    payload,
    extra,
    current: true,
  };
}

function passes(event: ReadEvent, filter: EventFilter): boolean {
  const { type, court, receivedFromMs, receivedToMs, currentOnly } = filter;
  if (type !== undefined && event.type !== type) return false;
  if (court !== undefined && event.courtId !== court) return false;
  if (receivedFromMs !== undefined && event.receivedMs < receivedFromMs) return false;
  if (receivedToMs !== undefined && event.receivedMs >= receivedToMs) return false;
  return event.current || currentOnly !== true;
}
