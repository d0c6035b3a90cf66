import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { sessionCounter } from '../layout/sessionCounter.ts';
import { lostBounds } from '../read/sessionBounds.ts';
import { ExpiredEvents, type PruneSelection } from './expiredEvents.ts';
import { keysWithoutEvent } from './keysWithoutEvent.ts';
import { findOldRecords, type OldRecords, removeDatabases } from './oldRecords.ts';
import { PacedSteps, STEP_ROWS, type StepWriter } from './pacedSteps.ts';
import { unusedNames } from './unusedNames.ts';
import { vacuum } from './vacuum.ts';

/** On a full disk a prune returns space after this many events, so that cameras are served before it ends. */
const DISK_FULL_VACUUM_EVENTS = 20_000;
/** What a prune has deleted. */
export interface Pruned {
  readonly events: number;
  /** Sessions that had any of these events. */
  readonly sessions: number;
  /** Returned to the file system. */
  readonly bytes: number;
  /** Old events that are kept for now, because headquarters does not have them yet. */
  readonly held: number;
  /** What went with them. */
  readonly records: OldRecords;
}

/** What has been deleted so far. */
class PruneTally {
  readonly sessions = new Set<number>();
  readonly #records: OldRecords[] = [];
  events = 0;
  bytes = 0;
  held = 0;

  addRecords(records: OldRecords): void {
    this.#records.push(records);
  }

  get pruned(): Pruned {
    const records = {
      conflictCopies: this.#records.flatMap(({ conflictCopies }) => conflictCopies),
      databases: this.#records.flatMap(({ databases }) => databases),
    };
    const { events, bytes, held } = this;
    return { events, sessions: this.sessions.size, bytes, held, records };
  }
}

/**
 * Called with the progress of each stage; `reader`: the prune waits for another program that keeps reading.
 */
export type PruneProgress = (doing: 'events' | 'keys' | 'pages' | 'reader', count: number) => void;

/** What a prune runs with. */
interface PruneContext {
  /** The connection of the writer. */
  readonly db: Database;
  readonly writer: StepWriter;
  readonly on: PruneProgress;
  /** Ends it at its next pause, with an AbortError. */
  readonly signal?: AbortSignal;
}

/**
 * Deletes what else is as old (oldRecords.ts), expired events, then their keys, then returns the free pages
 * to the file system: as short steps of the writer with pauses between them (pacedSteps.ts), so that ingest
 * does not notice. It may be interrupted anywhere.
 *
 * Keys come after events, because they are in hash order: deleted together with its event, each key would
 * dirty a page of its own. A key without an event is replaced if the event comes again. Names that no event uses are
 * deleted as well (../../ARCHITECTURE.md#retention).
 * @throws {SqliteError} where the database stays locked, or the disk stays full.
 */
export async function pruneEvents(context: PruneContext, selection: PruneSelection): Promise<Pruned> {
  const pruner = new Pruner(context);
  try {
    await pruner.deleteOldRecords(selection);
    await pruner.deleteEvents(selection);
    await pruner.deleteUnusedNames();
    await pruner.deleteKeys();
    await pruner.findBounds();
    await pruner.vacuum();
    return pruner.tally.pruned;
  } finally {
    pruner.end();
  }
}

/** @returns what `pruneEvents` would delete now, and the number of all events (`of`). */
export function countExpired(
  db: Database,
  selection: PruneSelection,
): { events: number; sessions: number; held: number; of: number } {
  const finder = new ExpiredEvents(db, selection);
  const sessions = new Set<number>();
  let events = 0;
  for (const list of finder.batches()) {
    events += list.length;
    for (const { session } of list) sessions.add(session);
  }
  const of = db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  return { events, sessions: sessions.size, held: finder.held, of };
}

/**
 * @returns a function that deletes events with their conflicts, and their keys as far as these are in memory. Call it inside a
 * transaction of the writer. It returns how many events each session has lost.
 */
export function eventRemoval(
  db: Database,
): (events: Iterable<{ readonly seq: number; readonly session: number }>) => Map<number, number> {
  const removeKey = db.prepare<[number]>(`
    DELETE FROM recent_key WHERE (session, hash, revision) =
      (SELECT session, key_hash(event_id), revision FROM event WHERE seq = ?)`);
  const remove = db.prepare<[number]>('DELETE FROM event WHERE seq = ?');
  const removeConflict = db.prepare<[number, number]>('DELETE FROM conflict WHERE session = ? AND seq = ?');
  const removeCopy = db.prepare<[number]>('DELETE FROM conflict_copy WHERE seq = ?');
  const updateSession = db.prepare<[number, number]>(
    'UPDATE session SET events = events - ?, first_ns = NULL, last_ns = NULL WHERE id = ?',
  );
  // Readers in order of arrival are told what is missing (arrivalReader.ts).
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

class Pruner {
  readonly #db: Database;
  readonly #on: PruneProgress;
  readonly #writer: StepWriter;
  readonly #steps: PacedSteps;
  readonly tally = new PruneTally();

  constructor({ db, writer, on, signal }: PruneContext) {
    this.#db = db;
    this.#on = on;
    this.#writer = writer;
    this.#steps = new PacedSteps(db, writer, () => on('reader', 0), signal);
  }

  end(): void {
    this.#steps.end();
  }

  /** First of all: on a full disk, an earlier database is room at once. */
  async deleteOldRecords(selection: PruneSelection): Promise<void> {
    const records = findOldRecords(this.#db, selection);
    removeDatabases(DataDirectory.of(this.#db.name), records);
    this.tally.bytes += records.databases.reduce((sum, { bytes }) => sum + bytes, 0);
    await this.#deleteTurns(records.conflictCopies);
    this.tally.addRecords(records);
  }

  /** What comes meanwhile has a turn of its own. */
  async #deleteTurns(turns: readonly number[]): Promise<void> {
    const remove = this.#db.prepare<[number]>('DELETE FROM conflict_copy WHERE turn = ?');
    await this.#steps.runAll(turns, STEP_ROWS, (some) => {
      for (const turn of some) remove.run(turn);
      return () => {};
    });
  }

  /** Deletes the events with their conflicts, and their keys as far as these are in memory. */
  async deleteEvents(selection: PruneSelection): Promise<void> {
    const remove = eventRemoval(this.#db);
    const { tally } = this;
    // Where it is of one type, most of each page stays.
    this.#steps.isScattered = selection.type !== undefined;
    let vacuumedAt = tally.events;
    const expired = new ExpiredEvents(this.#db, selection);
    for await (const batch of this.#steps.paced(expired.batches())) {
      await this.#steps.runAll(batch, STEP_ROWS, (steps) => {
        const deleted = remove(steps);
        return () => {
          for (const [session, count] of deleted) {
            tally.events += count;
            tally.sessions.add(session);
          }
        };
      });
      this.#on('events', tally.events);
      if (!this.#steps.isDiskFull || tally.events - vacuumedAt < DISK_FULL_VACUUM_EVENTS) continue;
      await this.vacuum();
      vacuumedAt = tally.events;
    }
    tally.held = expired.held;
  }

  async deleteKeys(): Promise<void> {
    // Of sessions that go on, so most of each page stays. Then pages are moved from the end of the file to wherever one is free.
    this.#steps.isScattered = true;
    let keys = 0;
    for await (const step of this.#steps.paced(keysWithoutEvent(this.#db, this.tally.sessions))) {
      let deleted = 0;
      await this.#steps.run(() => {
        deleted = step();
      });
      keys += deleted;
      this.#on('keys', keys);
    }
  }

  /** Before the keys: those of a session without events all go. */
  async deleteUnusedNames(): Promise<void> {
    for await (const step of this.#steps.paced(unusedNames(this.#db))) {
      if (step === undefined) continue;
      await this.#steps.run(() => {
        step();
        // Not after the pause that follows the commit: what arrives in it would be stored under the deleted ids.
        this.#writer.forgetNames();
      });
    }
  }

  /** Recomputes the bounds of the sessions whose first or last event was deleted. */
  async findBounds(): Promise<void> {
    for await (const step of this.#steps.paced(lostBounds(this.#db))) {
      if (step !== undefined) await this.#steps.run(step);
    }
  }

  async vacuum(): Promise<void> {
    const before = this.tally.bytes;
    await vacuum(this.#db, this.#steps, (bytes) => {
      this.tally.bytes = before + bytes;
      this.#on('pages', this.tally.bytes);
    });
  }
}
