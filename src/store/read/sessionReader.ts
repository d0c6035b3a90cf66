import type { Database } from 'better-sqlite3';
import { READ_CHUNK_BYTES, READ_CHUNK_ROWS } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/event.ts';
import { type OriginNames, OriginReader } from '../layout/origins.ts';
import { INLINE_TEXTS, type Texts, textReader } from '../layout/storedEvent.ts';
import { padded, placeholders } from '../sqlite/multiRowStatement.ts';
import { CurrentRevisions } from './currentRevisions.ts';
import { ALWAYS, type ClockOffsets, sortByEot } from './eotOrder.ts';

/** Page cache of a reader, in KiB: more is no faster, and took a tenth of its memory. */
const READ_CACHE_KIB = 4_000;

/** Which events to read; an absent member does not restrict them. */
export interface EventFilter {
  readonly type?: string | undefined;
  readonly court?: string | undefined;
  /** Nanoseconds since 1970-01-01T00:00:00Z, inclusive. */
  readonly fromNs?: bigint | undefined;
  /** Nanoseconds since 1970-01-01T00:00:00Z, exclusive. */
  readonly toNs?: bigint | undefined;
  /** Time of receipt, milliseconds since 1970-01-01T00:00:00Z, inclusive. */
  readonly receivedFromMs?: number | undefined;
  /** Time of receipt, milliseconds since 1970-01-01T00:00:00Z, exclusive. */
  readonly receivedToMs?: number | undefined;
  /** Only the highest revision of each event. */
  readonly currentOnly?: boolean | undefined;
}

/** An event as readers get it. */
export interface ReadEvent extends Arrival {
  /** The id of its names: events of one origin share type, court, venue, source and schema version. */
  readonly origin: number;
  /** Milliseconds since 1970-01-01T00:00:00Z; `eot` has the nanoseconds. */
  readonly eotMs: number;
  /** Whether this is the highest revision of its event that was stored when the read began. */
  readonly current: boolean;
}

/** The columns of CHUNK. */
type Row = readonly [
  seq: number,
  eventId: string,
  revision: number,
  eot: string,
  eotMs: number,
  origin: number,
  confidence: number,
  receivedMs: number,
  payload: string | null,
  extra: string | null,
];

/** Names by their id: with a text column for each name reading took a third longer. */
const CHUNK = `
  SELECT e.seq, e.event_id, e.revision, e.eot, e.eot_ns / 1000000, e.origin, e.confidence, e.received_ms,
         ${INLINE_TEXTS}
    FROM event e WHERE e.seq IN ${placeholders(READ_CHUNK_ROWS)}`;

/**
 * Reads a session by eot, then by arrival: the events that were stored when the read began, less those that
 * are pruned meanwhile. Needs 16 bytes an event for the order (eotOrder.ts), and reads a chunk of events at a
 * time, so that the WAL is never pinned for long.
 * @param db a connection of its own: creates a temporary table in it.
 * @param clockOffsets sources whose events come where a right clock would have put them; their eot stays as it was sent.
 * @yields chunks of the events that pass the filter, some of them empty, and how many events were considered.
 * @throws {OperatorError} where the names of an event are missing.
 */
export function* readSession(
  db: Database,
  session: number,
  filter: EventFilter = {},
  clockOffsets?: ClockOffsets,
): Generator<{ readonly events: readonly ReadEvent[]; readonly scanned: number }> {
  // The file is read once, from start to end.
  db.pragma(`cache_size = -${READ_CACHE_KIB}`);
  const { fromNs = ALWAYS.fromNs, toNs = ALWAYS.toNs } = filter;
  const { seqs, lastSeq } = sortByEot(db, session, { fromNs, toNs }, clockOffsets);
  const latest = new CurrentRevisions(db, session, lastSeq);
  const name = db.prepare<[number], string>('SELECT name FROM session WHERE id = ?').pluck();
  const sessionId = name.get(session) ?? '';
  const origins = new OriginReader(db);
  const find = db.prepare<number[], Row>(CHUNK).raw();
  const textsOf = textReader(db);
  const readChunk = db.transaction((from: number): { events: Draft[]; next: number } => {
    const wanted = seqs.subarray(from, from + READ_CHUNK_ROWS);
    const rows = new Map(find.all(...padded(wanted, READ_CHUNK_ROWS)).map((row) => [row[0], row]));
    const events: Draft[] = [];
    let [next, bytes] = [from, 0];
    while (next < from + wanted.length && bytes <= READ_CHUNK_BYTES) {
      const row = rows.get(seqs[next++]!);
      if (row === undefined) continue;
      const texts = textsOf(row[0], row[8], row[9]);
      events.push(toReadEvent(row, texts, sessionId, origins.names(row[5])));
      bytes += texts.payload.length + (texts.extra?.length ?? 0);
    }
    // In the same snapshot as the events: a prune deletes superseded revisions before the ones that supersede
    // them.
    latest.mark(events);
    return { events, next };
  });
  for (let at = 0; at < seqs.length; ) {
    const { events, next } = readChunk(at);
    yield { events: events.filter((event) => passes(event, filter)), scanned: next - at };
    at = next;
  }
}

/** An event before `current` is known. */
type Draft = Omit<ReadEvent, 'current'> & { current: boolean };

function toReadEvent(row: Row, { payload, extra }: Texts, sessionId: string, names: OriginNames): Draft {
  return {
    seq: row[0],
    sessionId,
    eventId: row[1],
    revision: row[2],
    eot: row[3],
    eotMs: row[4],
    origin: row[5],
    type: names.type,
    courtId: names.courtId,
    venueId: names.venueId,
    confidence: row[6],
    source: names.source,
    schemaVersion: names.schemaVersion,
    receivedMs: row[7],
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
