import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { sessionCounter } from '../db/sessionCounter.ts';
import { lostBounds } from '../read/sessionBounds.ts';
import { deleteEmptySessions, keysWithoutEvent } from './emptySessions.ts';
import { type ExpiredEvent, expiredEvents, type PruneSelection } from './expiredEvents.ts';
import { deleteOldCopies, findOldRecords, type OldRecords } from './oldRecords.ts';
import { type Step, type StepContext, Steps } from './steps.ts';

/** Events that a dry run reads at a time. */
const COUNTED_ROWS = 1_000;

/** What a prune has deleted. */
export interface Pruned {
  readonly events: number;
  /** Sessions that had any of these events. */
  readonly sessions: number;
  /** Of the deleted databases, and roughly those that are free in the file now. */
  readonly bytes: number;
  /** Old events that are kept for now, because headquarters does not have them yet. */
  readonly held: number;
  /** Old records that were deleted with them. */
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
  const freeBefore = freeBytesIn(db);
  const sessions = new Set<number>();
  const tally = { events: 0, held: 0 };
  function* deleting(): Generator<Step> {
    const remove = eventRemoval(db);
    for (const batch of expiredEvents(db, selection, steps.rows, tally)) {
      yield batch.length === 0 ? undefined : () => remove(batch);
      for (const { session } of batch) sessions.add(session);
      tally.events += batch.length;
      on(tally.events);
    }
  }
  try {
    // First of all: on a full disk, an earlier database is room at once.
    const records = findOldRecords(db, selection);
    // Not rmSync: it drops the code of an error that it does not know, such as EIO.
    for (const { name } of records.databases) fs.unlinkSync(DataDirectory.of(db.name).at(name));
    await steps.run([() => deleteOldCopies(db, selection)]);
    await steps.run(deleting());
    await steps.run(keysWithoutEvent(db, sessions));
    await steps.run([() => deleteEmptySessions(db, writer)]);
    await steps.run(lostBounds(db));
    const bytes = records.databases.reduce((sum, file) => sum + file.bytes, 0);
    const freed = Math.max(0, freeBytesIn(db) - freeBefore);
    return { ...tally, sessions: sessions.size, bytes: bytes + freed, records };
  } finally {
    await steps.end();
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
 * transaction of the writer.
 */
export function eventRemoval(db: Database): (events: Iterable<ExpiredEvent>) => void {
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
    countSessions();
    for (const { seq, session } of events) {
      removeKey.run(seq);
      updateSession.run(remove.run(seq).changes, session);
      if (removeConflict.run(session, seq).changes > 0) removeCopy.run(seq);
      notePruned.run(seq);
    }
  };
}
