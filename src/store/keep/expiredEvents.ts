import type { Database } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { LOOK_ROWS } from '../db/sizes.ts';
import { sessionId } from '../read/sessions.ts';

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
 * @param tally counts them.
 * @yields their seqs after each short read, in order of arrival, each once; often none.
 * @throws {OperatorError} if there is no such session.
 */
export function* expiredEvents(
  db: Database,
  { nowMs, beforeMs, type, session: name, hold }: PruneSelection,
  tally: Expired,
): Generator<number[]> {
  const session = name === undefined ? null : sessionId(db, name);
  const ofSession = 'SELECT min(seq), max(seq) FROM session_event WHERE session = ?';
  const bounds = db.prepare<[number], [first: number, last: number]>(ofSession).raw();
  const [first, last] = session === null ? [1, yield* lastBefore(db, beforeMs, nowMs)] : bounds.get(session)!;
  const heldFrom = hold ? Math.max(hold.afterSeq, yield* lastBefore(db, hold.beforeMs, nowMs)) : last;
  const read = db.prepare<[object], { seq: number; session: number; isAsked: number }>(`
    SELECT seq, session, (@session IS NULL OR session = @session)
           AND (@type IS NULL OR origin IN (SELECT id FROM origin WHERE type = @type)) AS isAsked
      FROM event WHERE seq > @after AND seq <= @last ORDER BY seq LIMIT ${LOOK_ROWS}`);
  const sessions = new Set<number>();
  const rowsAfter = (after: number) => read.all({ session, type: type ?? null, after, last });
  for (let rows = rowsAfter(first - 1); rows.length > 0; rows = rowsAfter(rows.at(-1)!.seq)) {
    const asked = rows.filter(({ isAsked }) => isAsked);
    const due = asked.filter(({ seq }) => seq <= heldFrom);
    tally.held += asked.length - due.length;
    tally.events += due.length;
    for (const { session } of due) tally.sessions = sessions.add(session).size;
    yield due.map(({ seq }) => seq);
  }
}

/** @yields nothing, after each of many short reads. @returns the seq of the last event of the prefix; 0: there is none. */
function* lastBefore(db: Database, beforeMs: number, nowMs: number): Generator<number[], number> {
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
