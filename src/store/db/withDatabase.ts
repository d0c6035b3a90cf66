import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { type OpenOptions, openDatabase } from './openDatabase.ts';
import { explain } from './openErrors.ts';

export interface DataOption {
  readonly data: DataDirectory;
}

/**
 * Opens the database of the data directory, runs `work` on it and closes it.
 * @throws {OperatorError} if the database cannot be opened, or fails: what happened and what to do.
 */
export async function withDatabase<Result>(
  { data }: DataOption,
  work: (db: Database) => Result | Promise<Result>,
  options: OpenOptions = {},
): Promise<Result> {
  const db = openDatabase(data, options);
  try {
    return await work(db);
  } catch (error) {
    throw explain(error, data);
  } finally {
    db.close();
  }
}
