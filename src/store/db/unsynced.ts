import Database from 'better-sqlite3';

/**
 * Commits without an fsync. A power failure may undo it: the next commit of events syncs the WAL up to itself.
 * @throws {SqliteError} of `commit`; a fatal one (sqliteErrors.ts) if later commits would not be synced.
 */
export function unsynced(db: Database.Database, commit: () => void): void {
  db.pragma('synchronous = NORMAL');
  try {
    commit();
  } finally {
    syncCommits(db);
  }
}

function syncCommits(db: Database.Database): void {
  try {
    db.pragma('synchronous = FULL');
  } catch (error) {
    throw new Database.SqliteError(`commits are no longer synced: ${error}`, 'SQLITE_IOERR');
  }
}
