import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import { makeLayout } from '../db/schema.ts';
import { eventRows, type NumberedEvent } from '../write/eventRows.ts';

/** An event as the log of a lost box has it. */
export interface LoggedEvent extends Omit<NumberedEvent, 'session'> {
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
    db.pragma('synchronous = OFF');
    makeLayout(db);
    const rows = eventRows(db);
    const takeBack = db.prepare<[number]>('DELETE FROM event WHERE seq > ?');
    // The first one replaces that of the layout.
    const putEpoch = db.prepare('INSERT OR REPLACE INTO epoch (id, name, from_seq) VALUES (?, ?, ?)');
    const epochs: (string | undefined)[] = [];
    let before: LoggedEvent | undefined;
    const add = (logged: LoggedEvent) => {
      const { seq, event, box, epoch } = logged;
      const isSame = epoch === before?.epoch;
      const isNext = isSame ? seq > (before?.seq ?? 0) : !epochs.includes(epoch);
      if (!isNext || (before !== undefined && box !== before.box))
        throw new OperatorError(
          `Seq ${seq} follows seq ${before?.seq}: the lines are not the log of one box, in order. Give the output of one "courtd fleet tail --box BOX". If two boxes have shipped under this name, neither can be restored from it.`,
        );
      if (!isSame) takeBack.run(seq - 1);
      if (!isSame) putEpoch.run(epochs.push(epoch), epoch, before === undefined ? 0 : seq - 1);
      before = logged;
      rows.insert([{ ...logged, session: rows.sessionId(event.sessionId) }]);
    };
    for await (const events of log) {
      db.transaction(() => events.forEach(add)).immediate();
      await setImmediate();
    }
    if (before === undefined)
      throw new OperatorError('The input has no events. Give it the lines of "courtd fleet tail".');
    db.exec('UPDATE pruned SET up_to_seq = (SELECT min(seq) - 1 FROM event)');
  } finally {
    db.close();
  }
}
