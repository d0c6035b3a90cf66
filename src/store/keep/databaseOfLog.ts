import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { completeKeys } from '../db/completeKeys.ts';
import { makeLayout } from '../db/schema.ts';
import { EventRows } from '../write/eventRows.ts';

/** An event as the log of a lost box has it. */
export interface LoggedEvent {
  readonly seq: number;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
  readonly event: CourtEvent;
  /** Undefined: the line does not say. */
  readonly box: string | undefined;
  readonly epoch: string | undefined;
}

/**
 * Makes a database, to be restored, from the log of one box: the same events under the same seqs. An epoch of the log that begins
 * behind a lower seq than the one before ended takes back what followed: the box had restored a backup. Of two events with one key the
 * box had pruned the first when the second came.
 * @param file empty. It is not synced.
 * @throws {OperatorError} if it is not the log of one box, in order.
 */
export async function databaseOfLog(file: string, log: AsyncIterable<readonly LoggedEvent[]>): Promise<void> {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    makeLayout(db, () => db.exec('DELETE FROM epoch'));
    const writer = new LogWriter(db);
    for await (const events of log) {
      db.transaction(() => writer.add(events)).immediate();
      await setImmediate();
    }
    db.transaction(() => writer.finish()).immediate();
  } finally {
    db.close();
  }
}

class LogWriter {
  readonly #db: Database.Database;
  readonly #rows: EventRows;
  readonly #epochs = new Set<string>();
  #epoch: string | undefined;
  #box: string | undefined;
  #first: number | undefined;
  #last = 0;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#rows = new EventRows(db);
  }

  add(events: readonly LoggedEvent[]): void {
    for (const { seq, receivedMs, event, box, epoch } of events) {
      this.#box ??= box;
      if (epoch !== undefined && epoch !== this.#epoch) this.#enter(epoch, seq - 1);
      if (box !== this.#box || seq <= this.#last)
        throw new OperatorError(
          `Seq ${seq} follows seq ${this.#last}: the lines are not the log of one box, in order. Give the output of one "courtd fleet tail --box BOX".`,
        );
      this.#first ??= seq;
      this.#last = seq;
      this.#rows.insert([this.#rows.number(event, seq, receivedMs)]);
    }
  }

  #enter(epoch: string, after: number): void {
    if (this.#epochs.has(epoch))
      throw new OperatorError(
        `The log returns to its epoch ${epoch}: two boxes have shipped under one name. Nothing was made.`,
      );
    this.#db.prepare('DELETE FROM event WHERE seq > ?').run(after);
    this.#db
      .prepare('INSERT INTO epoch (name, from_seq) VALUES (?, ?)')
      .run(epoch, this.#epochs.size === 0 ? 0 : after);
    this.#epochs.add(epoch);
    this.#epoch = epoch;
    this.#last = Math.min(this.#last, after);
  }

  finish(): void {
    const db = this.#db;
    if (this.#first === undefined)
      throw new OperatorError('The input has no events. Give it the lines of "courtd fleet tail".');
    if (this.#epochs.size === 0)
      db.exec('INSERT INTO epoch (name, from_seq) VALUES (lower(hex(randomblob(12))), 0)');
    completeKeys(db);
    db.exec(`
      DELETE FROM event WHERE seq NOT IN (SELECT seq FROM key);
      DELETE FROM session WHERE id NOT IN (SELECT session FROM event);
      -- The restore counts what is left.
      UPDATE session SET events = 0, first_ns = NULL, first_eot = NULL, last_ns = NULL, last_eot = NULL;
      UPDATE flushed SET counted_up_to = 0`);
    db.prepare('UPDATE pruned SET up_to_seq = ?').run(this.#first - 1);
  }
}
