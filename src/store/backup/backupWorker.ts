import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import type { CopyAnswer } from './onlineBackup.ts';
import { verifyDatabase } from './verifyDatabase.ts';

/** The thread of onlineBackup.ts: one copy of a database, checked. The calls take as long as the database is large. */

const [file, copy] = workerData as [string, string];
const db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
let answer: CopyAnswer;
try {
  const lastSeq = db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM event').pluck();
  const before = lastSeq.get()!;
  // With a rollback journal it would look for one beside the database again at each read, and do as that says, whoever has put
  // it there and whoever we are by then. In the log it opens nothing by its name any more.
  if (db.pragma('journal_mode', { simple: true }) !== 'wal') {
    throw new Database.SqliteError('another file has replaced the database', 'SQLITE_BUSY');
  }
  // By now SQLite has all of the database open: who it is from here on counts for the copy.
  parentPort!.postMessage('opened');
  await once(parentPort!, 'message');
  db.prepare('VACUUM INTO ?').run(copy);
  const contents = verifyDatabase(copy);
  // Only a prune could have taken the newest event away meanwhile, and then it is gone from both.
  if (contents.lastSeq < Math.min(before, lastSeq.get()!)) throw new OperatorError('is incomplete');
  answer = { contents };
} catch (error) {
  if (error instanceof OperatorError) answer = { invalid: error.message };
  else if (error instanceof Database.SqliteError) answer = { message: error.message, code: error.code };
  else throw error;
} finally {
  db.close();
}
parentPort?.postMessage(answer);
