import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { overwriteDeleted } from '../sqlite/secureDelete.ts';
import type { CopyAnswer } from './onlineBackup.ts';
import { verifyDatabase } from './verifyDatabase.ts';

/**
 * The worker thread of onlineBackup.ts: copies a database and verifies the copy. Both calls take as long as
 * the database is large.
 */

const [file, copy] = workerData as [string, string];
const db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
overwriteDeleted(db);
let answer: CopyAnswer;
try {
  const lastSeq = db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM event').pluck();
  const before = lastSeq.get()!;
  // In rollback journal mode SQLite would look for a journal beside the database at every read and apply it,
  // whoever put it there and whatever user this process has become by then. In WAL mode it opens nothing by
  // name any more.
  if (db.pragma('journal_mode', { simple: true }) !== 'wal') {
    throw new Database.SqliteError('another file has replaced the database', 'SQLITE_BUSY');
  }
  // SQLite has opened all the files of the database: from here on the process may become the user that writes
  // the copy.
  parentPort!.postMessage('opened');
  await once(parentPort!, 'message');
  db.prepare('VACUUM INTO ?').run(copy);
  const contents = verifyDatabase(copy);
  // Only a prune could have deleted the newest event meanwhile, and then it is missing from both.
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
