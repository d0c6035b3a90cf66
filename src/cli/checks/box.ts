import fs from 'node:fs';
import type { Command } from 'commander';
import { actAsOwner } from '../../base/processIdentity.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { askDaemon } from '../../control/controlClient.ts';
import { type DaemonStatus, STATUS_PATH } from '../../control/daemonStatus.ts';
import { showUnits, type UnitProperties } from '../../host/systemdUnits.ts';
import { databaseFile } from '../../store/directory/dataDirectory.ts';
import { inspect, type QuickLook } from '../../store/inspection/inspect.ts';
import { explain, noDatabase } from '../../store/open/openErrors.ts';
import type { DataOption } from '../options/withDatabase.ts';
import { Progress } from '../terminal/output.ts';
import { filesOf, given, SERVICE, SETTINGS_PROPERTIES, servesData, settingsOf } from './unitSettings.ts';

const QUICK_LOOK_MS = 15_000;

export interface Box {
  readonly data: string;
  /** The whole database is to be read. */
  readonly isFull: boolean;
  /** For what its variables mean. */
  readonly program: Command;
  /** courtd.service, where it serves this data directory; else why not, in a sentence. */
  readonly unit: UnitProperties | undefined;
  readonly noUnit: string;
  /** The COURTD_ variables that the daemon has, as far as this command can tell: none of them empty. */
  readonly settings: Readonly<Record<string, string>>;
  /** Where they come from, for a sentence. */
  readonly settingsFrom: string;
  /** @throws {OperatorError} where the database cannot be opened or read. Looked at once for all checks. */
  database(): Promise<QuickLook>;
  /** What the daemon says; undefined where none answers. Asked once for all checks. */
  daemon(): Promise<DaemonStatus | undefined>;
  readonly progress: Progress;
  /** Ends what is still under way with this process. */
  readonly signal: AbortSignal;
}

export interface BoxOptions extends DataOption {
  readonly full?: boolean;
}

/**
 * Root is the owner of the data directory from here on, by its effective ids.
 * @throws {OperatorError} where there is no database.
 */
export async function inspectBox({ data, full = false }: BoxOptions, program: Command): Promise<Box> {
  refuseMissing(data);
  const ending = new AbortController();
  cleanUpOnExit(() => ending.abort());
  const { signal } = ending;
  const shown = await showUnits([SERVICE], UNIT_PROPERTIES);
  const unit = shown?.[0];
  const unitSettings = unit && settingsOf(unit);
  const isServed = unitSettings !== undefined && servesData(unitSettings, data);
  actAsOwner(data);
  let look: Promise<QuickLook> | undefined;
  let daemon: Promise<DaemonStatus | undefined> | undefined;
  return {
    data,
    isFull: full,
    program,
    unit: isServed ? unit : undefined,
    noUnit:
      unit === undefined ? 'Not under systemd here' : `${SERVICE} has another data directory than ${data}`,
    settings: isServed ? unitSettings : given(process.env),
    settingsFrom: isServed ? filesOf(unit!).join(', ') || SERVICE : "this command's environment",
    database: () => {
      look ??= inspect('quick', data, { timeoutMs: QUICK_LOOK_MS, signal }) as Promise<QuickLook>;
      return look;
    },
    daemon: () => {
      // One that hangs, or whose socket is closed to this user, says nothing.
      daemon ??= askDaemon<DaemonStatus>(data, STATUS_PATH).catch(() => undefined);
      return daemon;
    },
    progress: new Progress(),
    signal,
  };
}

const UNIT_PROPERTIES = [...SETTINGS_PROPERTIES, 'User'];

function refuseMissing(data: string): void {
  const file = databaseFile(data);
  try {
    fs.lstatSync(file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw noDatabase(data);
    // One that is closed to this user is there: the checks say more.
    if (!['EACCES', 'EPERM'].includes(code)) throw explain(error, data);
  }
}
