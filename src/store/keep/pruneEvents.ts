import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { sessionCounter } from '../db/sessionCounter.ts';
import { lostBounds } from '../read/sessionBounds.ts';
import { emptySessions, keysWithoutEvent } from './emptySessions.ts';
import { type ExpiredEvent, expiredEvents, type PruneSelection } from './expiredEvents.ts';
import { deleteOldCopies, findOldRecords, type OldRecords, removeDatabases } from './oldRecords.ts';
import { type Step, type StepContext, Steps } from './steps.ts';

/** Events that a dry run reads at a time. */
const COUNTED_ROWS = 1_000;

/** What a prune has deleted. */
export interface Pruned {
  readonly events: number;
  /** Sessions that had any of these events. */
  readonly sessions: number;
  /** Of the databases that went, and about those that are free in the file now. */
  readonly bytes: number;
  /** Old events that are kept for now, because headquarters does not have them yet. */
  readonly held: number;
  /** What went with them. */
  readonly records: OldRecords;
}

/**
 * Deletes what else is as old (oldRecords.ts), expired events, then their keys and the sessions that have none any more
 * (../../ARCHITECTURE.md#retention), in short steps of the writer. It may be interrupted anywhere. The file does not shrink: its free
 * pages are used again.
 * @throws {SqliteError} if the database stays locked, or the disk stays full; {OperatorError} if there is no such session.
 */
export async function pruneEvents(context: StepContext, selection: PruneSelection): Promise<Pruned> {
  const { db, writer, on } = context;
  const steps = new Steps(context);
  const { rows } = steps;
  const freeBefore = freeBytesIn(db);
  const sessions = new Set<number>();
  const tally = { events: 0, held: 0 };
  function* deleting(): Generator<Step> {
    const remove = eventRemoval(db);
    for (const batch of expiredEvents(db, selection, rows, tally)) {
      let deleted = new Map<number, number>();
      yield batch.length === 0
        ? undefined
        : () => {
            deleted = remove(batch);
          };
      for (const [session, count] of deleted) {
        sessions.add(session);
        tally.events += count;
      }
      on('events', tally.events);
    }
  }
  try {
    // First of all: on a full disk, an earlier database is room at once.
    const records = findOldRecords(db, selection);
    removeDatabases(DataDirectory.of(db.name), records);
    await steps.run([() => deleteOldCopies(db, selection)]);
    await steps.run(deleting());
    await steps.run(keysWithoutEvent(db, sessions));
    await steps.run(emptySessions(db, writer, rows));
    await steps.run(lostBounds(db));
    await steps.giveBack();
    const bytes = records.databases.reduce((sum, file) => sum + file.bytes, 0);
    const freed = Math.max(0, freeBytesIn(db) - freeBefore);
    return { ...tally, sessions: sessions.size, bytes: bytes + freed, records };
  } finally {
    steps.end();
  }
}

/** @returns how many bytes of the file are free, to be used again. */
export function freeBytesIn(db: Database): number {
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  return pragma('freelist_count') * pragma('page_size');
}

/** @returns what `pruneEvents` would delete now, and the number of all events (`of`). */
export function countExpired(
  db: Database,
  selection: PruneSelection,
): { events: number; sessions: number; held: number; of: number } {
  const sessions = new Set<number>();
  const tally = { events: 0, held: 0 };
  for (const list of expiredEvents(db, selection, () => COUNTED_ROWS, tally)) {
    tally.events += list.length;
    for (const { session } of list) sessions.add(session);
  }
  const of = db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  return { ...tally, sessions: sessions.size, of };
}

/**
 * @returns a function that deletes events with their conflicts, and their keys as far as these are in memory. Call it inside a
 * transaction of the writer. It returns how many events each session has lost.
 */
export function eventRemoval(db: Database): (events: Iterable<ExpiredEvent>) => Map<number, number> {
  const removeKey = db.prepare<[number]>(`
    DELETE FROM recent_key WHERE (session, hash, revision) =
      (SELECT session, key_hash(event_id), revision FROM event WHERE seq = ?)`);
  const remove = db.prepare<[number]>('DELETE FROM event WHERE seq = ?');
  const removeConflict = db.prepare<[number, number]>('DELETE FROM conflict WHERE session = ? AND seq = ?');
  const removeCopy = db.prepare<[number]>('DELETE FROM conflict_copy WHERE seq = ?');
  const updateSession = db.prepare<[number, number]>(
    'UPDATE session SET events = events - ?, first_ns = NULL, last_ns = NULL WHERE id = ?',
  );
  // Readers in order of arrival report the gap (arrivalReader.ts).
  const notePruned = db.prepare<[number]>('UPDATE pruned SET up_to_seq = max(up_to_seq, ?)');
  const countSessions = sessionCounter(db);
  return (events) => {
    const deleted = new Map<number, number>();
    let last = 0;
    countSessions();
    for (const { seq, session } of events) {
      removeKey.run(seq);
      deleted.set(session, (deleted.get(session) ?? 0) + remove.run(seq).changes);
      if (removeConflict.run(session, seq).changes > 0) removeCopy.run(seq);
      last = Math.max(last, seq);
    }
    for (const [session, count] of deleted) updateSession.run(count, session);
    notePruned.run(last);
    return deleted;
  };
}
