import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import { isoTime } from '../../base/units.ts';
import { askDaemon, DaemonHangs } from '../../control/controlClient.ts';
import { type DaemonStatus, STATUS_PATH } from '../../control/daemonStatus.ts';
import { readShipView, type ShipView } from '../../fleet/feed/shipStatus.ts';
import { shipSettingsOf } from '../../fleet/ship/settings.ts';
import type { StoreFacts } from '../../health/facts.ts';
import { showUnits } from '../../host/systemdUnits.ts';
import { lastBackupMs } from '../../store/backup/lastBackup.ts';
import { databaseFile } from '../../store/directory/dataDirectory.ts';
import { freeBytes } from '../../store/directory/diskReserve.ts';
import { newDatabaseAgeMs } from '../../store/directory/newDatabase.ts';
import { previousDatabases } from '../../store/open/previousDatabases.ts';
import { suggestPrune } from '../../store/read/pruneSuggestion.ts';
import { type RecentSource, recentSources, summarizeStore } from '../../store/read/storeSummary.ts';
import { failureKind } from '../../store/sqlite/errors.ts';
import { listTokens, type TokenState, tokenState } from '../../store/tokens/tokens.ts';
import {
  given,
  minFreeOf,
  SERVICE,
  SETTINGS_PROPERTIES,
  servesData,
  settingsOf,
} from '../checks/unitSettings.ts';
import { hasFailed } from '../checks/units.ts';
import { withDatabase } from '../options/withDatabase.ts';
import type { Status } from './statusJson.ts';

/** What the data directory says, whether a daemon runs or not. */
export interface StoreView extends StoreFacts {
  readonly store: Status['store'];
  readonly recent: readonly RecentSource[];
  readonly ship: ShipView | undefined;
}

/** What the daemon says: undefined where none runs, and why where it does not answer. */
export interface DaemonView {
  readonly daemon: DaemonStatus | undefined;
  readonly hangs: DaemonHangs | undefined;
}

/** @returns whether there is a database at all; true where that is unknown. */
export function hasDatabase(directory: string): boolean {
  try {
    fs.accessSync(databaseFile(directory));
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** @param before what it said before: its newest events are not looked through again. @throws {OperatorError} where it cannot be read. */
export async function readStoreView(data: string, before?: StoreView): Promise<StoreView> {
  const units = await askForUnits(data);
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
    const suggestion = before
      ? before.room.suggestion
      : await unlessDamaged(() => db && suggestPrune(db, nowMs));
    const settings = shipSettingsOf(process.env);
    const ship = await unlessDamaged(() => db && readShipView(data, db, settings));
    const { growthBytesPerDay = 0 } = summary ?? {};
    const sizeOf = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const bytes = sizeOf(databaseFile(data));
    const free = freeBytes(data);
    const backupMs = lastBackupMs(data);
    return {
      directory: data,
      store: {
        events: summary?.events ?? null,
        sessions: summary?.sessions ?? null,
        bytes,
        wal_bytes: sizeOf(`${databaseFile(data)}-wal`),
        free_bytes: free,
        days_left: growthBytesPerDay > 0 ? Math.floor(free / growthBytesPerDay) : null,
        last_backup_at: isoTime(backupMs ?? null),
      },
      tokens: { active: count('active'), retiring: count('retiring') },
      isDamaged,
      newMs: newDatabaseAgeMs(data, nowMs),
      recent,
      ship,
      ...units,
      room: { suggestion, bytes, previousBytes: previousDatabases(data).bytes },
      oldestMs: summary?.oldestMs,
    };
  };
  // As `support` prints it, which also reads the journal and writes a file.
  const view = await unlessDamaged(() => withDatabase({ data }, read, { staysRoot: true }));
  return view ?? (await read());
}

/** Where courtd.service serves this data directory: how its nightly services ended, and its settings. */
async function askForUnits(
  data: string,
): Promise<Pick<StoreView, 'hasBackupFailed' | 'hasPruneFailed' | 'minFreeBytes'>> {
  const units = [SERVICE, 'courtd-backup.service', 'courtd-prune.service'];
  const shown = await showUnits(units, [...SETTINGS_PROPERTIES, 'Result']);
  const settings = shown && settingsOf(shown[0]!);
  const isServed = settings !== undefined && servesData(settings, data);
  const [, backup, prune] = isServed ? shown!.map(({ Result = 'success' }) => hasFailed(Result)) : [];
  return {
    hasBackupFailed: backup ?? false,
    hasPruneFailed: prune ?? false,
    minFreeBytes: minFreeOf(isServed ? settings : given(process.env)),
  };
}

/** Read the store first: that is where root becomes the owner of the directory. @throws {OperatorError} where the socket is closed to this user. */
export async function readDaemonView(data: string): Promise<DaemonView> {
  try {
    return { daemon: await askDaemon<DaemonStatus>(data, STATUS_PATH), hangs: undefined };
  } catch (error) {
    if (!(error instanceof DaemonHangs)) throw error;
    return { daemon: undefined, hangs: error };
  }
}
