import Database from 'better-sqlite3';

/**
 * What a failed statement means.
 * - busy: another process holds the lock; the same statement will succeed soon.
 * - full: no space on the disk; writes succeed again once there is some. IOERR_SHMSIZE is the same for the -shm file.
 * - fatal: nothing that this process has written can be relied on (../../ARCHITECTURE.md#a-failed-fsync-is-final).
 * - damaged: a page is corrupt or unreadable, or a constraint is broken, which courtd never does. The transaction is rolled back: only
 *   the requests that need that page fail.
 * - unexpected: a bug; only the request that met it fails.
 */
export type FailureKind = 'busy' | 'full' | 'fatal' | 'damaged' | 'unexpected';

const KINDS: ReadonlyArray<readonly [RegExp, FailureKind]> = [
  [/^SQLITE_(BUSY|LOCKED)/, 'busy'],
  [/^SQLITE_(FULL|IOERR_SHMSIZE)/, 'full'],
  [/^SQLITE_(IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL|AUTH|PERM)/, 'fatal'],
  [/^SQLITE_(CORRUPT|NOTADB|CONSTRAINT)/, 'damaged'],
];

/** @returns the error for a value that courtd never writes: the same as for a damaged page. */
export function damage(what: string): unknown {
  return new Database.SqliteError(`${what} is damaged`, 'SQLITE_CORRUPT');
}

/** Anything that is not SQLite's is 'unexpected'. */
export function failureKind(error: unknown): FailureKind {
  if (!(error instanceof Database.SqliteError)) return 'unexpected';
  return KINDS.find(([pattern]) => pattern.test(error.code))?.[1] ?? 'unexpected';
}

/**
 * Closes a connection after a failure, unless the disk failed. Closing the last one checkpoints, and a sync behind one that has failed
 * proves nothing: so it stays open until the process exits, without a shutdown, in which better-sqlite3 would close it.
 */
export function closeAfter(error: unknown, db: Database.Database): void {
  const isOfSystem = error instanceof Error && 'syscall' in error;
  if (failureKind(error) !== 'fatal' && !isOfSystem) return void db.close();
  process.once('beforeExit', () => process.exit());
}

/** @returns SQLite's extended result code, such as SQLITE_IOERR_FSYNC, for the log; undefined for other errors. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined;
}
