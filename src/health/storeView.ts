import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { MIN_FREE_BYTES } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import { isoTime } from '../base/units.ts';
import { hasFailed } from '../host/systemdUnits.ts';
import { minFreeOf, serviceOf } from '../host/unitSettings.ts';
import { lastBackupMs } from '../store/backup/lastBackup.ts';
import { freeBytes } from '../store/directory/diskReserve.ts';
import { newDatabaseAgeMs } from '../store/directory/newDatabase.ts';
import { unfinishedErasureMs } from '../store/erasure/ledger.ts';
import { previousDatabases } from '../store/open/previousDatabases.ts';
import { withDatabase } from '../store/open/withDatabase.ts';
import { suggestPrune } from '../store/read/pruneSuggestion.ts';
import { recentSources, summarizeStore } from '../store/read/storeSummary.ts';
import { withRefused } from '../store/rejections/refusedBodies.ts';
import { failureKind } from '../store/sqlite/errors.ts';
import { listTokens, type TokenState, tokenState } from '../store/tokens/tokens.ts';
import { isSoon } from './problemTexts.ts';
import type { ShipView } from './shipStatus.ts';
import type { StoreView } from './status.ts';

/** What the daemon has at hand, and reads through its own connection. */
interface DaemonSide {
  readonly minFreeBytes: number;
  readonly refused: StoreView['refused'];
  look<Result>(read: (db: Database) => Result): Result;
}

/**
 * @param readShip how far shipping has got.
 * @param before what it said before, or need not say: its newest events are not looked through (again).
 * @throws {OperatorError} where it cannot be read.
 */
export async function readStoreView(
  data: DataDirectory,
  readShip: (db: Database) => Promise<ShipView | undefined>,
  before?: Partial<Pick<StoreView, 'recent' | 'room'>>,
  daemon?: DaemonSide,
): Promise<StoreView> {
  // The sandbox of the daemon hides systemd.
  const units = daemon ? { ...NO_FAILURES, minFreeBytes: daemon.minFreeBytes } : await askForUnits(data);
  const nowMs = Date.now();
  let isDamaged = false;
  const unlessDamaged = async <Result>(part: () => Result | Promise<Result>): Promise<Result | undefined> => {
    try {
      return await part();
    } catch (error) {
      if (failureKind(error instanceof OperatorError ? error.cause : error) !== 'damaged') throw error;
      isDamaged = true;
      return undefined;
    }
  };
  const read = async (db?: Database): Promise<StoreView> => {
    const summary = await unlessDamaged(() => db && summarizeStore(db, nowMs));
    const tokens = await unlessDamaged(() => db && listTokens(db));
    const states = tokens?.map((token) => tokenState(token, nowMs));
    const count = (wanted: TokenState) => states?.filter((state) => state === wanted).length ?? null;
    const recent = before?.recent ?? (await unlessDamaged(() => db && recentSources(db, nowMs))) ?? [];
    const ship = await unlessDamaged(() => db && readShip(db));
    const refused =
      daemon?.refused ?? (await withRefused(data, (all) => all.waiting()).catch(() => undefined)) ?? [];
    const { growthBytesPerDay = 0 } = summary ?? {};
    const sizeOf = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const bytes = sizeOf(data.file('database'));
    const free = freeBytes(data);
    const days = growthBytesPerDay > 0 ? Math.floor(free / growthBytesPerDay) : null;
    // A look at many pages, which the daemon takes only if somebody needs it.
    const isTight = free < Math.max(units.minFreeBytes, MIN_FREE_BYTES) || isSoon(days);
    const suggestion = before?.room
      ? before.room.suggestion
      : await unlessDamaged(() => (isTight && db ? suggestPrune(db, nowMs) : undefined));
    const backupMs = lastBackupMs(data);
    return {
      directory: data.path,
      store: {
        events: summary?.events ?? null,
        sessions: summary?.sessions ?? null,
        bytes,
        wal_bytes: sizeOf(data.file('wal')),
        free_bytes: free,
        days_left: days,
        last_backup_at: isoTime(backupMs ?? null),
      },
      tokens: { active: count('active'), retiring: count('retiring') },
      isDamaged,
      unfinishedErasureMs: (await unlessDamaged(() => db && unfinishedErasureMs(db))) ?? undefined,
      newMs: newDatabaseAgeMs(data, nowMs),
      recent,
      ship,
      refused,
      ...units,
      room: { suggestion, bytes, previousBytes: previousDatabases(data).bytes },
      oldestMs: summary?.oldestMs,
    };
  };
  // As `support` prints it, which also reads the journal and writes a file.
  const view = await unlessDamaged(() => (daemon ? daemon.look(read) : withDatabase({ data }, read)));
  return view ?? (await read());
}

const NO_FAILURES = { hasBackupFailed: false, hasPruneFailed: false } as const;

/** Where courtd.service serves this data directory: how its nightly services ended, and its settings. */
async function askForUnits(
  data: DataDirectory,
): Promise<Pick<StoreView, 'hasBackupFailed' | 'hasPruneFailed' | 'minFreeBytes'>> {
  const nightly = ['courtd-backup.service', 'courtd-prune.service'];
  const { others, settings } = await serviceOf(data, ['Result'], ...nightly);
  const [backup, prune] = others.map(({ Result = 'success' }) => hasFailed(Result));
  return {
    hasBackupFailed: backup ?? false,
    hasPruneFailed: prune ?? false,
    minFreeBytes: minFreeOf(settings),
  };
}
