import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { BATCH_EVENTS, COMMAND_BUSY_MS } from '../../base/limits.ts';
import { isIntact } from '../db/checksum.ts';
import { type Epoch, readEpochs, SEQ_END, sharedUpTo } from '../db/epochs.ts';
import { GROUP_EVENTS } from '../db/sizes.ts';
import { EVENT_COLUMNS, EVENTS, type StoredEvent } from '../read/storedEvent.ts';
import { Appender } from '../write/appender.ts';

const LAST_SEQ = 'SELECT max(seq) FROM event';
const NEXT_SEQ = `SELECT min(seq) FROM event WHERE seq > @seq AND seq < ${SEQ_END}`;
/** If the last event cannot be read: more than may have come behind those that are counted, or whose keys are in the file. */
const LAST_BOUND = 'SELECT max(up_to, counted_up_to) + 200000 FROM flushed';
/** What a stopped box has counted behind a seq; no row if an event was read that it has not counted. */
const COUNTED = `
  SELECT total(events) - (SELECT count(*) FROM event WHERE seq <= @after) FROM session
  HAVING @lastRead <= (SELECT counted_up_to FROM flushed)`;

/** What has been taken over from replaced databases. */
export interface Salvaged {
  /** Events that the backup did not have. */
  accepted: number;
  /** Events that could not be read; if a database does not know how many it had, some of them may never have existed. */
  unreadable: number;
  /** Databases of which nothing could be read. */
  unreadableDatabases: number;
}

/**
 * Adds to a database that no box uses yet the readable events of others of the same box: each with its time of receipt
 * and its mark `erased`. An event that it already has is skipped.
 * @param epochs what the others have in common with these is not read again. @param files in the order of their age.
 * @throws {SqliteError} if the events cannot be stored.
 */
export async function salvage(
  db: Database.Database,
  epochs: readonly Epoch[],
  files: readonly string[],
): Promise<Salvaged> {
  const salvaged = { accepted: 0, unreadable: 0, unreadableDatabases: 0 };
  const appender = new Appender(db);
  const moveStep = db.transaction(() => appender.keys.moveStep(GROUP_EVENTS));
  const lastSeq = db.prepare<[], number>(LAST_SEQ).pluck().get() ?? 0;
  const known = (others: readonly Epoch[]) => Math.min(sharedUpTo(others, epochs) ?? 0, lastSeq);
  db.exec('CREATE TEMP TABLE sent AS SELECT id, duplicates AS copies FROM session');
  for (const file of files) {
    for (const events of eventsIn(file, known, salvaged)) {
      const batches = events.map((event) => ({
        events: [{ ...event, eotNs: BigInt(event.eotDigits) }],
        receivedMs: event.receivedMs,
      }));
      for (const { accepted } of appender.commit(batches)) salvaged.accepted += accepted;
      while (appender.keys.isMoveDue) moveStep();
      // Signals are handled between two turns of the event loop.
      await setImmediate();
    }
  }
  // An event that is there is no copy that a camera has sent.
  db.exec('UPDATE session SET duplicates = ifnull((SELECT copies FROM sent WHERE sent.id = session.id), 0)');
  return salvaged;
}

/**
 * Reads a database that has been replaced, or is about to be, as far as possible: past every damaged page.
 * @param known up to which seq of a log the target has its events. @param lost counts the events behind it that cannot be read.
 * @yields the others, in the order of arrival.
 */
function* eventsIn(file: string, known: (epochs: readonly Epoch[]) => number, lost: Salvaged) {
  let db: Database.Database | undefined;
  try {
    // A connection that can write would change the file when it closes.
    db = new Database(file, { readonly: true, timeout: COMMAND_BUSY_MS });
    const find = db.prepare<[number], StoredEvent>(`SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE e.seq = ?`);
    const number = (sql: string, values = {}) => db!.prepare<[object], number>(sql).pluck().get(values);
    const after = known(ifReadable(() => readEpochs(db!)) ?? []);
    const lastSeq = Math.min(ifReadable(() => number(LAST_SEQ)) ?? number(LAST_BOUND)!, SEQ_END);
    const events: StoredEvent[] = [];
    let [read, lastRead, unreadable] = [0, after, 0];
    for (let seq = after + 1; seq <= lastSeq; seq++) {
      // Null: one that was pruned is not there, and has not been lost.
      const event = ifReadable(() => find.get(seq) ?? null);
      if (event && isIntact(event)) {
        events.push(event);
        [read, lastRead] = [read + 1, seq];
      } else if (event !== null) unreadable++;
      // Behind a damaged seq there is no other one for long.
      else seq = Math.max(seq, (ifReadable(() => number(NEXT_SEQ, { seq }) ?? lastSeq) ?? 0) - 1);
      if (events.length === BATCH_EVENTS) yield events.splice(0);
    }
    yield events;
    const counted = ifReadable(() => number(COUNTED, { after, lastRead }));
    lost.unreadable += counted === undefined ? unreadable : Math.max(0, counted - read);
  } catch {
    lost.unreadableDatabases++;
  } finally {
    db?.close();
  }
}

function ifReadable<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
