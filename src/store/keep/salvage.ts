import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { BATCH_EVENTS, COMMAND_BUSY_MS } from '../../base/limits.ts';
import { type Epoch, readEpochs, sharedUpTo } from '../db/epochs.ts';
import { Damage } from '../read/damage.ts';
import { EVENT_COLUMNS, EVENTS, isVerified, type StoredEvent } from '../read/storedEvent.ts';
import { Appender } from '../write/appender.ts';

/** If the newest event cannot be found: how many may have come behind those whose keys are in the file (../write/keys.ts). */
const SEQS_BEHIND = 200_000;

/** What has been taken over from replaced databases. */
export interface Salvaged {
  /** Events that the backup did not have. */
  accepted: number;
  /** Events that could not be read; if a database does not know how many it had, some of them may never have existed. */
  unreadable: number;
  /** Databases of which nothing could be read. */
  unreadableDatabases: number;
}

/** The database that salvaged events are added to. */
type SalvageTarget = { readonly epochs: readonly Epoch[]; readonly lastSeq: number };

/**
 * Adds to a database that no box uses yet the readable events of others of the same box: each with its time of receipt
 * and its mark `erased`. An event that it already has counts as a duplicate.
 * @param files in the order of their age. @throws {SqliteError} if the events cannot be stored.
 */
export async function salvage(
  db: Database.Database,
  target: SalvageTarget,
  files: readonly string[],
): Promise<Salvaged> {
  const salvaged = { accepted: 0, unreadable: 0, unreadableDatabases: 0 };
  const appender = new Appender(db);
  const append = db.transaction((events: readonly StoredEvent[]) => {
    const batches = events.map((event) => ({
      events: [{ ...event, eotNs: BigInt(event.eotDigits) }],
      receivedMs: event.receivedMs,
    }));
    for (const { accepted } of appender.append(batches)) salvaged.accepted += accepted;
  });
  for (const file of files) {
    for (const events of eventsIn(file, target, salvaged)) {
      append(events);
      while (appender.keys.isMoveDue) appender.keys.moveStep();
      // Signals are handled between two turns of the event loop.
      await setImmediate();
    }
  }
  return salvaged;
}

/**
 * Reads a database that has been replaced, or is about to be, as far as possible: past every damaged page.
 * @yields what can be read of the events that are not in the target, in the order of arrival. @param lost counts the rest.
 */
function* eventsIn(file: string, target: SalvageTarget, lost: Salvaged): Generator<StoredEvent[]> {
  let db: Database.Database | undefined;
  try {
    // A connection that can write would change the file when it closes.
    db = new Database(file, { readonly: fs.existsSync(`${file}-wal`), timeout: COMMAND_BUSY_MS });
    const find = db.prepare<[number], StoredEvent>(`SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE e.seq = ?`);
    const lastSeq = lastSeqOf(db);
    const epochs = ifReadable(() => readEpochs(db!)) ?? [];
    const after = Math.min(sharedUpTo(epochs, target.epochs) ?? 0, target.lastSeq);
    const damage = new Damage();
    const events: StoredEvent[] = [];
    let [read, lastRead, unreadable] = [0, after, 0];
    for (let seq = after + 1; seq <= lastSeq; seq++) {
      try {
        // One that was pruned is not there, and has not been lost.
        const event = find.get(seq);
        if (event === undefined || !isVerified(event, damage)) continue;
        events.push(event);
        [read, lastRead] = [read + 1, seq];
      } catch {
        unreadable++;
      }
      if (events.length === BATCH_EVENTS) yield events.splice(0);
    }
    yield events;
    lost.unreadable += ifReadable(() => missingIn(db!, after, read, lastRead)) ?? unreadable + damage.events;
  } catch {
    lost.unreadableDatabases++;
  } finally {
    db?.close();
  }
}

function lastSeqOf(db: Database.Database): number {
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  return (
    ifReadable(() => number('SELECT max(seq) FROM event')) ??
    number('SELECT max(up_to, counted_up_to) FROM flushed') + SEQS_BEHIND
  );
}

/** @returns by how many the counters of a box that was stopped exceed what was read; undefined if there are events that they do not have. */
function missingIn(db: Database.Database, after: number, read: number, lastRead: number): number | undefined {
  const [counted, upTo] = db
    .prepare<[number], [number, number]>(
      `SELECT (SELECT total(events) FROM session) - (SELECT count(*) FROM event WHERE seq <= ?), counted_up_to FROM flushed`,
    )
    .raw()
    .get(after)!;
  return lastRead > upTo ? undefined : Math.max(0, counted - read);
}

function ifReadable<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
