import Database from 'better-sqlite3';

/** What is stored cannot be read where a request needs it: only that request is refused. */
class DamagedRow extends Error {}

/**
 * What a failed write means (design 5).
 * - busy: another process holds the lock; the same will work in a moment.
 * - full: no room on the disk; works again when there is some. SHMSIZE is the same of the -shm file, which is memory.
 * - fatal: after an I/O error the kernel may have dropped the pages: nothing of this process can be trusted.
 * - damaged: an old row cannot be read; only the request that needs it has failed.
 * - unexpected: ours to mend; only the request that met it has failed.
 */
export type FailureKind = 'busy' | 'full' | 'fatal' | 'damaged' | 'unexpected';

const KINDS: ReadonlyArray<readonly [RegExp, FailureKind]> = [
  [/^SQLITE_(BUSY|LOCKED)/, 'busy'],
  [/^SQLITE_(FULL|IOERR_SHMSIZE)/, 'full'],
  [/^SQLITE_(IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY|NOMEM|PROTOCOL|AUTH|PERM)/, 'fatal'],
];

export function failureKind(error: unknown): FailureKind {
  if (error instanceof DamagedRow) return 'damaged';
  if (!(error instanceof Database.SqliteError)) return 'unexpected';
  return KINDS.find(([pattern]) => pattern.test(error.code))?.[1] ?? 'unexpected';
}

/** SQLite's own code, such as SQLITE_IOERR_FSYNC, for the log. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined;
}

/** Not only what the file holds: SQLite also says so where the disk gave it something else (CORRUPT after EIO was seen). */
export function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error) ?? '');
}

/** Reads what is stored. @throws {DamagedRow} where that is damaged; an error of the disk stays what it is. */
export function readingStored<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) throw new DamagedRow((error as Error).message, { cause: error });
    throw error;
  }
}
