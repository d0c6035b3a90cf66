import type { Database } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { LOOK_ROWS } from '../db/sizes.ts';
import { sessionId } from '../read/sessions.ts';

/** Events that are looked at, for each that a step may delete. */
const LOOKS_PER_ROW = 10;

/** Which events a prune deletes: milliseconds since 1970-01-01T00:00:00Z. */
export interface PruneSelection {
  /** Events that were received before this are old. */
  readonly beforeMs: number;
  readonly nowMs: number;
  /** Only events of this type. */
  readonly type?: string;
  /** All events of this session, whatever their age, and no others. */
  readonly session?: string;
  /** Which events are kept for longer. */
  readonly hold?: ShipHold;
}

interface ShipHold {
  /** Headquarters has every event up to this seq. */
  readonly afterSeq: number;
  /** Later events are kept if they were received at this time or later, milliseconds since 1970-01-01T00:00:00Z. */
  readonly beforeMs: number;
}

/** What is deleted. */
export class Expired {
  events = 0;
  /** That had any of these events. */
  sessions = 0;
  /** Old events that are kept for now, because headquarters does not have them yet. */
  held = 0;
}

/** Whether other records go as well, which hold events of any type and session. */
export function isOfAll({ type, session }: PruneSelection): boolean {
  return type === undefined && session === undefined;
}

/**
 * Finds the events to delete: the log up to its last old event before the first one that is younger than the age and not in the
 * future. So events from a time with a wrong clock are deleted with their neighbours, and a wrong clock now deletes little.
 * @param rows how many events a batch has at most. @param tally counts them.
 * @yields the seqs of events in batches, in order of arrival, each event once; a batch may be empty.
 * @throws {OperatorError} if there is no such session.
 */
export function* expiredEvents(
  db: Database,
  { nowMs, beforeMs, type, session: name, hold }: PruneSelection,
  rows: () => number,
  tally: Expired,
): Generator<readonly number[]> {
  const session = name === undefined ? undefined : sessionId(db, name);
  const of = session === undefined ? 'event' : 'session_event WHERE session = @session';
  const bounds = db.prepare<[object], [first: number | null, last: number | null]>(
    `SELECT (SELECT min(seq) FROM ${of}), (SELECT max(seq) FROM ${of})`,
  );
  const [first, last] = bounds.raw().get({ session }) ?? [];
  const end = session === undefined ? yield* lastBefore(db, beforeMs, nowMs) : (last ?? 0);
  const heldFrom = hold ? Math.max(hold.afterSeq, yield* lastBefore(db, hold.beforeMs, nowMs)) : end;
  const isType = type === undefined ? '' : 'AND origin IN (SELECT id FROM origin WHERE type = @type)';
  const isSession = session === undefined ? '' : 'AND session = @session';
  const read = db.prepare<[object], { readonly seq: number; readonly session: number }>(`
    SELECT seq, session FROM event WHERE seq > @after AND seq <= @upTo ${isSession} ${isType} ORDER BY seq LIMIT @limit`);
  const sessions = new Set<number>();
  for (let after = (first ?? 1) - 1; after < end; ) {
    const limit = rows();
    const upTo = Math.min(end, after + LOOKS_PER_ROW * limit);
    const found = read.all({ session, type, after, upTo, limit });
    const due = found.filter(({ seq }) => seq <= heldFrom);
    tally.held += found.length - due.length;
    tally.events += due.length;
    for (const { session } of due) tally.sessions = sessions.add(session).size;
    yield due.map(({ seq }) => seq);
    after = found.length < limit ? upTo : found.at(-1)!.seq;
  }
}

/** @yields nothing, after each of many short reads. @returns the seq of the last event of the prefix; 0: there is none. */
function* lastBefore(db: Database, beforeMs: number, nowMs: number): Generator<readonly number[], number> {
  const read = db.prepare<[number], { readonly seq: number; readonly ms: number }>(
    `SELECT seq, received_ms AS ms FROM event WHERE seq > ? ORDER BY seq LIMIT ${LOOK_ROWS}`,
  );
  let last = 0;
  for (let rows = read.all(0); rows.length > 0; rows = read.all(rows.at(-1)!.seq)) {
    for (const { seq, ms } of rows) {
      if (ms >= beforeMs && ms <= nowMs) return last;
      // Before courtd existed the clock of the box cannot have been right.
      if (ms >= EARLIEST_RECEIVED_MS && ms < beforeMs) last = seq;
    }
    yield [];
  }
  return last;
}
