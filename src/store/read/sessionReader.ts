import type { Database, Statement } from 'better-sqlite3';
import { READ_CHUNK_BYTES, READ_CHUNK_ROWS } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/event.ts';
import { msOf, nsOf } from '../layout/checksum.ts';
import { padded, placeholders } from '../sqlite/multiRowStatement.ts';
import {
  ARRIVAL_COLUMNS,
  ArrivalDecoder,
  type ArrivalRow,
  type DecodedEvent,
  eventColumns,
} from './arrivalRow.ts';
import { CurrentRevisions } from './currentRevisions.ts';
import { Damage } from './damage.ts';
import { type ClockOffsets, countLeft, sortByEot } from './eotOrder.ts';
import { readableRows } from './readableRows.ts';

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
  /**
   * Takes what was left out, and whether the session's count says that there is more. Without it, the end of the read throws where
   * something is damaged.
   */
  readonly damage?: Damage | undefined;
  /** Sources whose events come where a right clock would have put them; their eot stays as it was sent. */
  readonly clockOffsets?: ClockOffsets | undefined;
  /** Called before the first chunk. */
  readonly onBegin?: (asOf: AsOf) => void;
}

/** What a read has: of what the box received later, nothing. */
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
 * are pruned meanwhile. Needs 32 bytes an event for the order (eotOrder.ts), and reads a chunk of events at a
 * time, so that the WAL is never pinned for long.
 *
 * Every event of the session is verified, whatever the filter: a damaged one may be of any court and time. What does not match its
 * checksum is left out, and so is what is on a damaged page.
 * @param db a connection of its own: creates a temporary table in it.
 * @yields chunks, some of them without events.
 * @throws {OperatorError} without `damage`, at the end, where something is damaged.
 */
export function* readSession(
  db: Database,
  session: number,
  { damage, clockOffsets, onBegin, ...filter }: ReadOptions = {},
): Generator<SessionChunk> {
  // The file is read once, from start to end.
  db.pragma(`cache_size = -${READ_CACHE_KIB}`);
  const found = damage ?? new Damage();
  const name = db.prepare<[number], string>('SELECT name FROM session WHERE id = ?').pluck();
  const sessionId = name.get(session) ?? '';
  const latest = new CurrentRevisions(db, session);
  const ms = Date.now();
  const order = sortByEot(db, session, { onRevised: (...event) => latest.add(...event), clockOffsets });
  latest.complete(order);
  const { seqs, counted, lastSeq } = order;
  onBegin?.({ seq: lastSeq, ms });
  const rows = new RowReader(db, found, sessionId);
  const readChunk = db.transaction((from: number) => {
    const chunk = rows.read(seqs, from);
    // In the same snapshot as the events: a prune deletes superseded revisions before the ones that supersede
    // them.
    latest.mark(chunk.events);
    return chunk;
  });
  let read = 0;
  for (let at = 0; at < seqs.length; ) {
    const { events, next, rows: some } = readChunk(at);
    read += some;
    yield { events: events.filter((event) => passes(event, filter)), scanned: next - at };
    at = next;
  }
  const left = countLeft(db, session, lastSeq);
  // A prune makes the count go down meanwhile, and events that come do not count.
  if (read < left || read > Math.max(counted, left))
    found.miscount(sessionId, read < left ? left : counted, read);
  if (latest.withoutKey > 0) {
    found.other(
      `Keys of session ${JSON.stringify(sessionId)} are damaged: a revision that was superseded may have been taken for the current one.`,
    );
  }
  if (damage === undefined) found.assertNone();
}

/** Reads and verifies rows by their seqs. */
export class RowReader {
  readonly #sessionId: string | undefined;
  readonly #damage: Damage;
  readonly #decoder: ArrivalDecoder;
  readonly #find: Statement<number[], ArrivalRow>;
  readonly #findOne: Statement<[number], ArrivalRow>;

  /** @param sessionId of all of them; absent: each has its own. */
  constructor(db: Database, damage: Damage, sessionId?: string) {
    this.#sessionId = sessionId;
    this.#damage = damage;
    this.#decoder = new ArrivalDecoder(db);
    const columns = sessionId === undefined ? ARRIVAL_COLUMNS : eventColumns('NULL');
    const select = (where: string) => `SELECT ${columns} FROM event e WHERE e.seq ${where}`;
    this.#find = db.prepare<number[], ArrivalRow>(select(`IN ${placeholders(READ_CHUNK_ROWS)}`)).raw();
    this.#findOne = db.prepare<[number], ArrivalRow>(select('= ?')).raw();
  }

  /** @returns the intact events from a place in the order on, the place of the next one, and how many rows were found. */
  read(seqs: Float64Array, from: number): { events: Draft[]; next: number; rows: number } {
    const wanted = seqs.subarray(from, from + READ_CHUNK_ROWS);
    const found = readableRows(
      () => this.#find.all(...padded(wanted, READ_CHUNK_ROWS)),
      (seq) => this.#findOne.get(seq),
      () => wanted,
    );
    const bySeq = new Map(found.map((row) => [row[0], row]));
    const events: Draft[] = [];
    let [next, bytes, rows] = [from, 0, 0];
    while (next < from + wanted.length && bytes <= READ_CHUNK_BYTES) {
      const row = bySeq.get(seqs[next++]!);
      if (row === undefined) continue;
      rows++;
      const event = this.#decoder.event(row, this.#damage, this.#sessionId);
      if (event === undefined) continue;
      events.push({ ...event, eotMs: msOf(event.eotHigh, event.eotLow), current: true });
      bytes += event.payload.length + (event.extra?.length ?? 0);
    }
    return { events, next, rows };
  }
}

/** An event before `current` is known. */
type Draft = DecodedEvent & { readonly eotMs: number; current: boolean };

function passes(event: Draft, filter: EventFilter): boolean {
  const { type, court, fromNs, toNs, currentOnly } = filter;
  if (type !== undefined && event.type !== type) return false;
  if (court !== undefined && event.courtId !== court) return false;
  if (fromNs !== undefined && nsOf(event.eotHigh, event.eotLow) < fromNs) return false;
  if (toNs !== undefined && nsOf(event.eotHigh, event.eotLow) >= toNs) return false;
  return event.current || currentOnly !== true;
}
