import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { DAY_MS, isoTime } from '../base/units.ts';
import { freeBytes } from '../store/db/diskReserve.ts';
import { failureKind } from '../store/db/sqliteErrors.ts';
import { lastBackup } from '../store/keep/lastBackup.ts';
import { freeBytesIn } from '../store/keep/pruneEvents.ts';
import { summarizeStore } from '../store/read/storeSummary.ts';
import { listTokens, tokenState } from '../store/tokens/tokens.ts';
import { unfinishedErasureMs } from '../store/write/ledger.ts';
import type { StoreWatch } from './storeWatch.ts';

/** What the data directory and its database show. */
export type StoreFacts = ReturnType<typeof readStoreFacts>;

/**
 * Reads a few dozen pages.
 * @param watch of the daemon, which also verifies some events. @throws SQLite's errors, but not those about damage.
 */
export function readStoreFacts(data: DataDirectory, db: Database, watch?: StoreWatch) {
  const nowMs = Date.now();
  let isDamaged = false;
  const read = <Result>(part: (db: Database) => Result): Result | undefined => {
    try {
      return part(db);
    } catch (error) {
      if (failureKind(error) !== 'damaged') throw error;
      isDamaged = true;
      return undefined;
    }
  };
  const summary = read((db) => summarizeStore(db, nowMs));
  const states = read((db) => listTokens(db).map((token) => tokenState(token, nowMs)));
  const count = (wanted: string) => states?.filter((state) => state === wanted).length ?? null;
  const [bytes, walBytes] = [sizeOf(data.file('database')), sizeOf(data.file('wal'))];
  const free = freeBytes(data) + (read(freeBytesIn) ?? 0);
  const { growthBytesPerDay = 0 } = summary ?? {};
  const days = growthBytesPerDay > 0 ? Math.floor(free / growthBytesPerDay) : null;
  const oldestMs = summary?.oldestMs;
  return {
    directory: data.path,
    store: {
      events: summary?.events ?? null,
      sessions: summary?.sessions ?? null,
      bytes: bytes + walBytes,
      wal_bytes: walBytes,
      free_bytes: free,
      days_left: days,
      last_backup_at: isoTime(lastBackup(data).ms ?? null),
    },
    tokens: { active: count('active'), retiring: count('retiring') },
    // When the latest unfinished erasure was started, in milliseconds since 1970-01-01T00:00:00Z.
    erasureMs: read(unfinishedErasureMs) ?? undefined,
    failedBackup: failedBackup(data),
    // Since the oldest event was received; undefined if it is not known.
    oldestDays: oldestMs && (nowMs - oldestMs) / DAY_MS,
    // A part of the database could not be read, or an event has changed: this one is read last.
    isDamaged: read((db) => watch?.findsDamage(db)) || isDamaged,
  };
}

/** @returns when the latest scheduled backup failed, and how systemd calls that; undefined if a later backup was made. */
function failedBackup(data: DataDirectory): { readonly ms: number; readonly result: string } | undefined {
  try {
    const result = /^[a-z-]{1,40}(?=\n$)/.exec(data.read('backupResult'))?.[0] ?? 'success';
    const ms = fs.statSync(data.file('backupResult')).mtimeMs;
    const isOver = ['success', 'exec-condition'].includes(result) || ms <= (lastBackup(data).ms ?? 0);
    return isOver ? undefined : { ms, result };
  } catch {
    // There is none, or this user may not read it.
    return undefined;
  }
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
