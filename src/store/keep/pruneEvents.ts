import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { type PreviousFile, previousFiles } from '../db/previousDatabases.ts';
import { sessionCounter } from '../db/sessionCounter.ts';
import { STEP_KEYS } from '../db/sizes.ts';
import { lostBounds } from '../read/sessions.ts';
import { Expired, expiredEvents, isOfAll, type PruneSelection } from './expiredEvents.ts';
import { paceOf, runSteps, type Step, type StepContext, type StepWriter } from './steps.ts';

/** What holds events besides the events themselves, and is as old as those that a prune deletes. */
export interface OldRecords {
  /** Events that came again with other content, as old as the last time. */
  readonly conflictCopies: number;
  /** Databases that a restore has replaced, as old as that. */
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
export interface Pruned extends Expired {
  /** Of the deleted databases, and roughly those that are free in the file now. */
  readonly bytes: number;
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
  const freeBefore = freeBytesIn(db);
  const tally = new Expired();
  // First of all: on a full disk, an earlier database is room at once.
  const records = findOldRecords(db, selection);
  // Not rmSync: it drops the code of an error that it does not know, such as EIO.
  for (const { name } of records.databases) fs.unlinkSync(DataDirectory.of(db.name).at(name));
  function* steps(): Generator<Step> {
    if (isOfAll(selection)) yield () => void db.prepare(`DELETE ${OLD_COPIES}`).run(selection);
    const remove = eventRemoval(db);
    for (const seqs of expiredEvents(db, selection, tally)) {
      do {
        const some = seqs.splice(0, paceOf(writer).rows);
        yield () => remove(some);
      } while (seqs.length > 0);
      on(tally.events);
    }
    yield* keysWithoutEvent(db);
    yield () => deleteEmptySessions(db, writer);
    yield* lostBounds(db);
  }
  await runSteps(context, steps());
  const bytes = records.databases.reduce((sum, file) => sum + file.bytes, 0);
  return { ...tally, bytes: bytes + Math.max(0, freeBytesIn(db) - freeBefore), records };
}

/** @returns how many bytes of the file are free, to be used again. */
export function freeBytesIn(db: Database): number {
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  return pragma('freelist_count') * pragma('page_size');
}

/** @returns what `pruneEvents` would delete now, and the number of all events (`of`). */
export function countExpired(db: Database, selection: PruneSelection): Expired & { readonly of: number } {
  const tally = new Expired();
  for (const _seqs of expiredEvents(db, selection, tally));
  return { ...tally, of: db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()! };
}

/**
 * @returns a function that deletes events with their conflicts, and their keys as far as these are in memory. Call it inside a
 * transaction of the writer.
 */
export function eventRemoval(db: Database): (seqs: readonly number[]) => void {
  const among = 'seq IN (SELECT value FROM json_each(@seqs))';
  const statements = [
    `DELETE FROM recent_key WHERE (session, hash, revision) IN
       (SELECT session, key_hash(event_id), revision FROM event WHERE ${among})`,
    `UPDATE session SET events = events - lost, first_ns = NULL, last_ns = NULL
       FROM (SELECT session, count(*) AS lost FROM event WHERE ${among} GROUP BY session) WHERE id = session`,
    `DELETE FROM conflict WHERE (session, seq) IN (SELECT session, seq FROM event WHERE ${among})`,
    `DELETE FROM conflict_copy WHERE ${among}`,
    `DELETE FROM event WHERE ${among}`,
    // Readers in order of arrival report the gap (arrivals.ts).
    'UPDATE pruned SET up_to_seq = max(up_to_seq, (SELECT max(value) FROM json_each(@seqs)))',
  ].map((sql) => db.prepare<[{ seqs: string }]>(sql));
  const countSessions = sessionCounter(db);
  return (seqs) => {
    if (seqs.length === 0) return;
    countSessions();
    for (const statement of statements) statement.run({ seqs: JSON.stringify(seqs) });
  };
}

/**
 * Keys of deleted events, which are deleted after the events because they are in the order of their hash: each would change a page of
 * its own. A key without an event is replaced if the event comes again. Sessions that have lost events do not know their first one.
 * @yields steps that delete keys.
 */
export function* keysWithoutEvent(db: Database): Generator<Step> {
  const next = db
    .prepare<unknown[], [Buffer, number]>(`
      SELECT hash, revision FROM key WHERE session = ? AND (hash, revision) > (?, ?)
       ORDER BY hash, revision LIMIT 1 OFFSET ${STEP_KEYS - 1}`)
    .raw();
  const remove = db.prepare(`
    DELETE FROM key WHERE session = ? AND (hash, revision) > (?, ?) AND (hash, revision) <= (?, ?)
       AND seq <= (SELECT up_to_seq FROM pruned) AND NOT EXISTS (SELECT 1 FROM event WHERE seq = key.seq)`);
  const lost = db.prepare<[], number>('SELECT id FROM session WHERE first_ns IS NULL').pluck();
  const end: [Buffer, number] = [Buffer.alloc(32, 0xff), 0];
  for (const session of lost.all()) {
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
  appender.forget();
}
