import { isMainThread, type MessagePort, parentPort, workerData } from 'node:worker_threads';
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
export async function work([file, copy]: readonly [string, string], port: MessagePort): Promise<void> {
  const db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
  overwriteDeleted(db);
  let answer: CopyAnswer;
  try {
    const lastSeq = db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM event').pluck();
    const before = lastSeq.get()!;
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
  port.postMessage(answer);
}

if (!isMainThread) await work(workerData, parentPort!);
