import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { type PreviousFile, previousFiles } from '../db/previousDatabases.ts';
import { sessionCounter } from '../db/sessionCounter.ts';
import { STEP_KEYS } from '../db/sizes.ts';
import { lostBounds } from '../read/sessionBounds.ts';
import { type ExpiredEvent, expiredEvents, isOfAll, type PruneSelection } from './expiredEvents.ts';
import { type Step, type StepContext, Steps, type StepWriter } from './steps.ts';

/** Events that a dry run reads at a time. */
const COUNTED_ROWS = 1_000;

/** What holds events besides the events themselves, and is as old as those that a prune deletes. */
export interface OldRecords {
  /** Events that came again with other content, as old as the last time. */
  readonly conflictCopies: number;
  /** Databases that a restore has replaced, as old as that, and copies of an upgrade, as old as the file. */
  readonly databases: readonly PreviousFile[];
}

const OLD_COPIES = `
  FROM conflict_copy WHERE seq IN (SELECT seq FROM conflict WHERE last_ms >= ${EARLIEST_RECEIVED_MS} AND last_ms < @beforeMs)`;

/** With a type or a session nothing is found: these hold events of all. */
export function findOldRecords(db: Database, selection: PruneSelection): OldRecords {
  if (!isOfAll(selection)) return { conflictCopies: 0, databases: [] };
  const count = db.prepare<[object], number>(`SELECT count(*) ${OLD_COPIES}`).pluck();
  const isDue = ({ ms }: PreviousFile) => ms >= EARLIEST_RECEIVED_MS && ms < selection.beforeMs;
  return {
    conflictCopies: count.get(selection)!,
    databases: previousFiles(DataDirectory.of(db.name)).filter(isDue),
  };
}

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
 * Deletes other records of that age (OldRecords), expired events, then their keys and the sessions that have none any more
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
    if (isOfAll(selection)) await steps.run([() => db.prepare(`DELETE ${OLD_COPIES}`).run(selection)]);
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

/**
 * Keys of deleted events, which are deleted after the events because they are in the order of their hash: each would change a page of
 * its own. A key without an event is replaced if the event comes again.
 * @param sessions that have lost events. After an interrupted prune, keys stay until the session loses events again or has none.
 * @yields steps that delete keys.
 */
export function* keysWithoutEvent(db: Database, sessions: Iterable<number>): Generator<Step> {
  const next = db
    .prepare<unknown[], [Buffer, number]>(`
      SELECT hash, revision FROM key WHERE session = ? AND (hash, revision) > (?, ?)
       ORDER BY hash, revision LIMIT 1 OFFSET ${STEP_KEYS - 1}`)
    .raw();
  const remove = db.prepare(`
    DELETE FROM key WHERE session = ? AND (hash, revision) > (?, ?) AND (hash, revision) <= (?, ?)
       AND seq <= (SELECT up_to_seq FROM pruned) AND NOT EXISTS (SELECT 1 FROM event WHERE seq = key.seq)`);
  const empty = db.prepare<[], number>('SELECT id FROM session WHERE events = 0').pluck();
  const end: [Buffer, number] = [Buffer.alloc(32, 0xff), 0];
  for (const session of new Set([...sessions, ...empty.all()])) {
    for (let after: [Buffer, number] = [Buffer.alloc(1), -1]; after !== end; ) {
      const to = next.get(session, ...after) ?? end;
      const from = after;
      yield () => void remove.run(session, ...from, ...to);
      after = to;
    }
  }
}

/** Deletes sessions without events, after their keys. Call it inside a transaction. */
export function deleteEmptySessions(db: Database, { appender }: Pick<StepWriter, 'appender'>): void {
  sessionCounter(db)();
  // A counter may be wrong, and without its name no event of the session can be read.
  db.exec(`
    DELETE FROM session WHERE events = 0
       AND NOT EXISTS (SELECT 1 FROM key WHERE session = id) AND NOT EXISTS (SELECT 1 FROM recent_key WHERE session = id)`);
  // Not after the pause that follows: events that arrive in it would be stored under the deleted ids.
  appender.forgetNames();
}
