import type { Database } from 'better-sqlite3';

export const OVERWRITE_DELETED = 'secure_delete = FAST';

/**
 * From now on this connection, and what it copies the database to, overwrites what it deletes, in pages that it writes anyway. An
 * erasure (../keep/erase.ts) relies on it from the first event of a database on: if a root page gets children, its old content
 * before would stay in its free space for ever.
 */
export function overwriteDeleted(db: Database): void {
  db.pragma(OVERWRITE_DELETED);
}
