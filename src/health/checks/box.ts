import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import type { UnitProperties } from '../../host/systemdUnits.ts';
import { filesOf, SERVICE, serviceOf } from '../../host/unitSettings.ts';
import { inspect, type QuickLook } from '../../store/inspection/inspect.ts';
import { explain, noDatabase } from '../../store/open/openErrors.ts';
import type { DaemonStatus } from '../daemonStatus.ts';
import type { Finding } from '../finding.ts';

const QUICK_LOOK_MS = 15_000;

/** What the command line knows, or another process: the checks only look. */
export interface CheckContext {
  readonly variables: Variables;
  readonly progress: Progress;
  /** @throws {OperatorError} where a daemon hangs, or its socket is closed to this user. */
  askDaemon(): Promise<DaemonStatus | undefined>;
  /** How far events have been shipped from here. @param settings those of the daemon. */
  checkShipping(settings: Box['settings']): Promise<Finding>;
}

/** What COURTD_ variables mean. */
interface Variables {
  isKnown(name: string): boolean;
  /** @returns what would be accepted, where the value is not. */
  faultOf(name: string, value: string): string | undefined;
}

/** Shows how far a long check is. */
interface Progress {
  show(text: () => string): void;
  clear(): void;
}

export interface Box extends Omit<CheckContext, 'askDaemon'> {
  readonly data: DataDirectory;
  /** The whole database is to be read. */
  readonly isFull: boolean;
  /** What the log says is not to be told again. */
  readonly isAcknowledged: boolean;
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
  /** Ends what is still under way with this process. */
  readonly signal: AbortSignal;
}

export interface BoxOptions {
  readonly data: DataDirectory;
  readonly full?: boolean;
  readonly acknowledge?: boolean;
}

/** @throws {OperatorError} where there is no database. */
export async function inspectBox(
  { data, full = false, acknowledge = false }: BoxOptions,
  context: CheckContext,
): Promise<Box> {
  refuseMissing(data);
  const ending = new AbortController();
  cleanUpOnExit(() => ending.abort());
  const { signal } = ending;
  const { unit, settings, isInstalled } = await serviceOf(data, ['User']);
  let look: Promise<QuickLook> | undefined;
  let daemon: Promise<DaemonStatus | undefined> | undefined;
  return {
    data,
    isFull: full,
    isAcknowledged: acknowledge,
    ...context,
    unit,
    noUnit: isInstalled ? `${SERVICE} has another data directory than ${data}` : 'Not under systemd here',
    settings,
    settingsFrom: unit ? filesOf(unit).join(', ') || SERVICE : "this command's environment",
    database: () => {
      look ??= inspect('quick', data, { timeoutMs: QUICK_LOOK_MS, signal }) as Promise<QuickLook>;
      return look;
    },
    daemon: () => {
      // One that hangs, or whose socket is closed to this user, says nothing.
      daemon ??= context.askDaemon().catch(() => undefined);
      return daemon;
    },
    signal,
  };
}

function refuseMissing(data: DataDirectory): void {
  const file = data.file('database');
  try {
    fs.lstatSync(file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw noDatabase(data);
    // One that is closed to this user is there: the checks say more.
    if (!['EACCES', 'EPERM'].includes(code)) throw explain(error, data);
  }
}
