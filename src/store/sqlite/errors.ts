import Database from 'better-sqlite3';

/**
 * What a failed write means (design 5).
 * - busy: another process holds the lock; the same will work in a moment.
 * - full: no room on the disk; works again when there is some. SHMSIZE is the same of the -shm file, which is memory.
 * - fatal: after an I/O error the kernel may have dropped the pages: nothing of this process can be trusted.
 * - damaged: a page is not what it must be, or the disk cannot read it. What met it is rolled back, and of what was written nothing is
 *   in doubt: only the request that needs that page has failed.
 * - unexpected: ours to mend; only the request that met it has failed.
 */
export type FailureKind = 'busy' | 'full' | 'fatal' | 'damaged' | 'unexpected';

const KINDS: ReadonlyArray<readonly [RegExp, FailureKind]> = [
  [/^SQLITE_(BUSY|LOCKED)/, 'busy'],
  [/^SQLITE_(FULL|IOERR_SHMSIZE)/, 'full'],
  [/^SQLITE_(IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL|AUTH|PERM)/, 'fatal'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'damaged'],
];

export function failureKind(error: unknown): FailureKind {
  if (!(error instanceof Database.SqliteError)) return 'unexpected';
  return KINDS.find(([pattern]) => pattern.test(error.code))?.[1] ?? 'unexpected';
}

/** SQLite's own code, such as SQLITE_IOERR_FSYNC, for the log. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined;
}
