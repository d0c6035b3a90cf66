import path from 'node:path';
import Database from 'better-sqlite3';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { CourtEvent } from '../../src/protocol/courtEvent.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Problem } from '../../src/protocol/errors.ts';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { checksumOf } from '../../src/store/db/checksum.ts';
import { keyHash } from '../../src/store/db/keyHash.ts';
import { openDatabase } from '../../src/store/db/openDatabase.ts';
import { PAGE_BYTES } from '../../src/store/db/schema.ts';
import { sessionCounter } from '../../src/store/db/sessionCounter.ts';
import type { PruneSelection } from '../../src/store/keep/expiredEvents.ts';
import { type Pruned, pruneEvents } from '../../src/store/keep/pruneEvents.ts';
import type { StepProgress, StepWriter } from '../../src/store/keep/steps.ts';
import { EVENT_COLUMNS, EVENTS, type StoredEvent } from '../../src/store/read/storedEvent.ts';
import { Appender, type Counts } from '../../src/store/write/appender.ts';
import type { GroupCommitEvents } from '../../src/store/write/groupCommit.ts';
import { type Cleanup, type CommandResult, courtd, temporaryFolder } from './daemon.ts';
import { events } from './events.ts';

/** @returns events as requests of one each would bring them. */
export function court(...sent: WireEvent[]): CourtEvent[] {
  return sent.flatMap((event) => decodeBatch(Buffer.from(JSON.stringify(event))));
}

/** @returns a valid event that better-sqlite3 refuses to bind, after its key has been claimed. */
export function unbindable(event: CourtEvent): CourtEvent {
  return { ...event, eotNs: 2n ** 64n };
}

/** @returns an open database in a temporary folder, closed after the test if it was not before. */
export function scratch(t: Cleanup, folder = temporaryFolder(t)): { folder: string; db: Database.Database } {
  const db = openDatabase(new DataDirectory(folder), { create: true });
  t.teardown(() => db.close());
  return { folder, db };
}

/** As the store closes it: sessions have counted their events. */
export function countAndClose(db: Database.Database): void {
  db.transaction(sessionCounter(db))();
  db.close();
}

/** A data directory of no daemon, and commands on it. */
export interface StoppedBox {
  readonly data: string;
  command(...args: string[]): Promise<CommandResult>;
}

/** @returns one with events in it. */
export function stoppedBox(t: Cleanup, count = 20, overrides: Record<string, unknown> = {}): StoppedBox {
  const { folder: data, db } = scratch(t);
  new Committer(db).append(...court(...events(count, overrides)));
  countAndClose(db);
  return { data, command: (...args) => courtd([...args, '--data', data]) };
}

/**
 * @returns another connection to a database that this process may have open. Not by `openDatabase`, which reads the
 * file's header: closing that descriptor would drop the locks of the first one.
 */
export function otherConnection(t: Cleanup, folder: string): Database.Database {
  const db = new Database(path.join(folder, 'courtd.db'), { timeout: 0 });
  t.teardown(() => db.close());
  return db;
}

/** Writes so many frames to the WAL, and a few more, with one commit. */
export function fillWal(db: Database.Database, frames: number): void {
  db.exec('CREATE TABLE IF NOT EXISTS filler (x)');
  db.prepare('INSERT INTO filler VALUES (zeroblob(?))').run(frames * PAGE_BYTES);
}

/** Appends as the writer does, without its queue. */
export class Committer {
  readonly appender: Appender;
  readonly #db: Database.Database;
  readonly #now: () => number;

  /** @param now the clock of the box. */
  constructor(db: Database.Database, now = Date.now) {
    this.#db = db;
    this.#now = now;
    this.appender = new Appender(db);
  }

  /** @returns the counts, without the duplicates themselves. @throws what the appender throws, after the rollback. */
  append(...sent: CourtEvent[]): Omit<Counts, 'copies'> {
    const [counts] = this.appender.commit([{ events: sent, receivedMs: this.#now() }]);
    const { copies: _copies, ...numbers } = counts!;
    return numbers;
  }

  /** Deletes as the writer does, except that keys stay in memory: those of events that arrive during a prune do. */
  prune(selection: PruneSelection, on: StepProgress = () => {}): Promise<Pruned> {
    return pruneEvents({ db: this.#db, writer: this.steps, on }, selection);
  }

  get steps(): StepWriter {
    return {
      appender: this.appender,
      step: (work) => this.#db.transaction(work).immediate(),
      isServing: false,
      schedule: () => void this.#db.pragma('wal_checkpoint(PASSIVE)'),
      truncateWal: () => void this.#db.pragma('wal_checkpoint(TRUNCATE)'),
      holds: new Set(),
    };
  }

  /** Moves all keys to the file. */
  sealAll(): void {
    do this.appender.keys.moveStep();
    while (this.appender.keys.isMoveDue);
  }
}

/** Makes the checksums right of events `e` that a test has changed. @param where in SQL; absent: all. */
export function reseal(db: Database.Database, where = 'true'): void {
  const rows = db.prepare<[], StoredEvent>(`SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE ${where}`);
  const set = db.prepare('UPDATE event SET checksum = ? WHERE seq = ?');
  for (const row of rows.all()) {
    set.run(checksumOf(row, BigInt(row.eotDigits), row), row.seq);
  }
}

const DAY_MS = 86_400_000;

/** Moves receipts back, as if the clock had said so. @param where in SQL; absent: all. */
export function ageEvents(data: string, days: number, where = 'true'): void {
  const db = new Database(path.join(data, 'courtd.db'), { timeout: 5_000 });
  db.exec(`UPDATE event SET received_ms = received_ms - ${days * DAY_MS} WHERE ${where}`);
  reseal(db);
  db.close();
}

/** What the store reported to the daemon. */
export function recorder(): { on: GroupCommitEvents; told: string[] } {
  const told: string[] = [];
  const tell = (what: keyof GroupCommitEvents) => () => void told.push(what);
  return {
    on: {
      full: tell('full'),
      healed: tell('healed'),
      fatal: tell('fatal'),
      damaged: tell('damaged'),
      unexpected: tell('unexpected'),
    },
    told,
  };
}

/** @returns the code of the problem that rejected a request; else its outcome. */
export async function refusal(request: Promise<unknown>): Promise<unknown> {
  try {
    return await request;
  } catch (error) {
    return error instanceof Problem ? [error.code, error.status, error.headers['Retry-After']] : error;
  }
}

/** What must not be of the keys of all events (keys.ts). */
interface KeyState {
  /** Events without a key, in the file or among those that a start reads back: a resend would be stored again. */
  readonly unknown: number;
  /** Keys in the file that lead to another event or to none. */
  readonly astray: number;
}

export function keyState(db: Database.Database): KeyState {
  db.function('key_hash', { deterministic: true }, keyHash as (eventId: unknown) => Buffer);
  const sql = `
    WITH state AS (
      SELECT EXISTS (SELECT 1 FROM key k WHERE k.session = e.session AND k.revision = e.revision AND k.seq = e.seq
                      AND k.hash = key_hash(e.event_id)) AS inFile,
             e.seq > (SELECT up_to FROM flushed) AS isRecent
        FROM event e)
    SELECT coalesce(sum(NOT inFile AND NOT isRecent), 0) AS unknown,
           (SELECT count(*) FROM key) - coalesce(sum(inFile), 0) AS astray
      FROM state`;
  return db.prepare<[], KeyState>(sql).get()!;
}
