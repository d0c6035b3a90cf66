import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { RANDOM_NAME } from '../db/epochs.ts';
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
 * Makes a database, to be restored like a copy, from the log of one box: the same events under the same seqs. An epoch of the log that
 * begins behind a lower seq than the one before ended takes back what followed: the box had restored a backup.
 * @param file empty. It is not synced.
 * @throws {OperatorError} if it is not the log of one box, in order.
 */
export async function databaseOfLog(file: string, log: AsyncIterable<readonly LoggedEvent[]>): Promise<void> {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    makeLayout(db, () => db.exec('DELETE FROM epoch'));
    const add = adder(db);
    for await (const events of log) {
      db.transaction(() => events.map(add)).immediate();
      await setImmediate();
    }
    if (db.prepare('SELECT max(seq) FROM event').pluck().get() === null)
      throw new OperatorError('The input has no events. Give it the lines of "courtd fleet tail".');
    db.exec(`
      UPDATE pruned SET up_to_seq = (SELECT min(seq) - 1 FROM event);
      INSERT INTO epoch (name, from_seq) SELECT ${RANDOM_NAME}, 0 WHERE NOT EXISTS (SELECT 1 FROM epoch)`);
  } finally {
    db.close();
  }
}

/** @returns a function that adds an event. Call it inside a transaction. */
function adder(db: Database.Database): (logged: LoggedEvent) => void {
  const rows = new EventRows(db);
  const epochs = new Set<string | undefined>();
  const takeBack = db.prepare<[number]>('DELETE FROM event WHERE seq > ?');
  const addEpoch = db.prepare('INSERT INTO epoch (name, from_seq) VALUES (?, ?)');
  let before: Pick<LoggedEvent, 'seq' | 'box' | 'epoch'> | undefined;
  return (logged) => {
    const { seq, receivedMs, event, box, epoch } = logged;
    const isSame = epoch === before?.epoch;
    if (before !== undefined && (box !== before.box || (isSame && seq <= before.seq)))
      throw new OperatorError(
        `Seq ${seq} follows seq ${before.seq}: the lines are not the log of one box, in order. Give the output of one "courtd fleet tail --box BOX".`,
      );
    if (!isSame && epochs.has(epoch))
      throw new OperatorError(
        `The log returns to its epoch ${epoch}: two boxes have shipped under one name. Nothing was made.`,
      );
    if (!isSame) takeBack.run(seq - 1);
    if (!isSame) addEpoch.run(epoch, epochs.size === 0 ? 0 : seq - 1);
    epochs.add(epoch);
    before = logged;
    rows.insert([{ seq, session: rows.sessionId(event.sessionId), event, receivedMs }]);
  };
}
