import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { askDaemon, DaemonHangs } from '../../control/controlClient.ts';
import { type DaemonStatus, STATUS_PATH } from '../../control/daemonStatus.ts';
import { showUnits } from '../../host/systemdUnits.ts';
import { readShipView, type ShipView } from '../../ship/feed/shipStatus.ts';
import { shipSettingsOf } from '../../ship/settings.ts';
import { lastBackupMs } from '../../store/backup/lastBackup.ts';
import { databaseFile } from '../../store/directory/dataDirectory.ts';
import { freeBytes } from '../../store/directory/diskReserve.ts';
import { type RecentSource, recentSources, summarizeStore } from '../../store/read/storeSummary.ts';
import { listTokens, tokenState } from '../../store/tokens/tokens.ts';
import { SERVICE, SETTINGS_PROPERTIES, servesData, settingsOf } from '../checks/unitSettings.ts';
import { hasFailed } from '../checks/units.ts';
import { withDatabase } from '../options/withDatabase.ts';
import { isoTime } from '../terminal/output.ts';
import type { Status } from './statusJson.ts';

/** What the data directory says, whether a daemon runs or not. */
export interface StoreView {
  readonly directory: string;
  readonly store: Status['store'];
  readonly tokens: Status['tokens'];
  readonly recent: readonly RecentSource[];
  readonly ship: ShipView;
  /** The last run of courtd-backup.service, where courtd.service serves this data directory. */
  readonly hasBackupFailed: boolean;
  /** When the oldest event was received, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly oldestMs: number | undefined;
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
  const hasBackupFailed = await askForBackup(data);
  const nowMs = Date.now();
  const read = async (db: Database): Promise<StoreView> => {
    const { events, sessions, oldestMs, growthBytesPerDay = 0 } = summarizeStore(db, nowMs);
    const states = listTokens(db).map((token) => tokenState(token, nowMs));
    const sizeOf = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const free = freeBytes(data);
    const backupMs = lastBackupMs(data);
    return {
      directory: data,
      store: {
        events,
        sessions,
        bytes: sizeOf(databaseFile(data)),
        wal_bytes: sizeOf(`${databaseFile(data)}-wal`),
        free_bytes: free,
        days_left: growthBytesPerDay > 0 ? Math.floor(free / growthBytesPerDay) : null,
        last_backup_at: isoTime(backupMs ?? null),
      },
      tokens: {
        active: states.filter((state) => state === 'active').length,
        retiring: states.filter((state) => state === 'retiring').length,
      },
      recent: before?.recent ?? recentSources(db, nowMs),
      ship: await readShipView(data, db, shipSettingsOf(process.env)),
      hasBackupFailed,
      oldestMs,
    };
  };
  // As `support` prints it, which also reads the journal and writes a file.
  return withDatabase({ data }, read, { staysRoot: true });
}

async function askForBackup(data: string): Promise<boolean> {
  const shown = await showUnits([SERVICE, 'courtd-backup.service'], [...SETTINGS_PROPERTIES, 'Result']);
  if (shown === undefined || !servesData(settingsOf(shown[0]!), data)) return false;
  return hasFailed(shown[1]!.Result ?? 'success');
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
