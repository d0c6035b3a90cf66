import type { Database } from 'better-sqlite3';
import { explain, type OpenOptions, openDatabase } from '../../store/open/openDatabase.ts';

export interface DataOption {
  /** The data directory. */
  readonly data: string;
}

/**
 * Runs one command's work on the database of the data directory, and closes it.
 * @throws {StoreError} where it cannot be opened, or fails: with a sentence for people.
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
