import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { OperatorError } from '../base/operatorError.ts';
import { counted } from '../base/units.ts';
import { yieldToIngest } from '../base/yieldToIngest.ts';
import { type DaemonListening, isLoopback, listening, nearestOf, placeOf } from '../host/cameraAddresses.ts';
import { type Service, serviceOf } from '../host/serviceSettings.ts';
import { askTool } from '../host/systemTool.ts';
import { withDatabase } from '../store/db/openDatabase.ts';
import { type Consistency, checkConsistency } from '../store/keep/verifyDatabase.ts';
import { problem } from './problems.ts';

/** `courtd check`: faults that need a test to be found. It repeats nothing that `courtd status` reports. */

/** As `courtd check --json` prints it. */
export interface CheckResult {
  readonly name: string;
  readonly level: 'ok' | 'warn' | 'fail';
  /** What was found, in a sentence. */
  readonly message: string;
  /** What to do; empty if there is nothing to do. */
  readonly advice: string;
}

/** What a look has found. */
type Finding = Omit<CheckResult, 'name'>;
type Found = Finding | readonly Finding[];
type Look = (box: Box) => Found | Promise<Found>;

const ok = (message: string): Finding => ({ level: 'ok', message, advice: '' });
const warn = (message: string, advice: string): Finding => ({ level: 'warn', message, advice });
const fail = (message: string, advice: string): Finding => ({ level: 'fail', message, advice });

/** The command line knows what the variables mean. */
export interface Variables {
  isKnown(name: string): boolean;
  /** @returns what would be accepted, if the value is not. */
  faultOf(name: string, value: string): string | undefined;
}

export interface Box extends Service {
  readonly data: DataDirectory;
  readonly variables: Variables;
  /** The origin of the settings, for a sentence. */
  readonly settingsFrom: string;
  /** Undefined if no daemon answers. */
  readonly daemon: DaemonListening | undefined;
}

const KNOCK_MS = 5_000;
const SYNCS = 9;
/** Disks of a box take 0.1 to 15 ms, tired SD cards 40 and more. */
const SLOW_SYNC_MS = 40;
/** What SQLite writes a page of its log with. */
const SYNC_BYTES = 4_096;

const LOOKS: Readonly<Record<string, Look>> = { settings, clock, timer, backup, port, sync };

/** @param daemon what it reports of itself. */
export function boxOf(data: DataDirectory, variables: Variables, daemon?: DaemonListening): Box {
  const service = serviceOf(data);
  const settingsFrom = service.settingsFile ?? "this command's environment";
  return { ...service, data, variables, settingsFrom, daemon };
}

/** Runs every check, one after another, even if one fails. */
export async function runChecks(box: Box): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const [name, look] of Object.entries(LOOKS)) results.push(...(await checked(name, () => look(box))));
  return results;
}

/** @returns what a look has found under its name; if it fails, that. */
async function checked(name: string, look: () => Found | Promise<Found>): Promise<CheckResult[]> {
  try {
    return [await look()].flat().map((finding) => ({ name, ...finding }));
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException;
    if (!(error instanceof OperatorError) && code === '') throw error;
    const isClosed = ['EACCES', 'EPERM'].includes(code);
    return [{ name, ...fail(message, isClosed ? 'Use sudo.' : 'Solve that, and run the check again.') }];
  }
}

function settings({ variables, settings, settingsFrom, settingsFile }: Box): Finding[] {
  const restart = 'then "sudo systemctl restart courtd"';
  const faults = Object.entries(settings).flatMap(([name, value]) => {
    if (!variables.isKnown(name)) {
      const advice = `Remove or correct ${name}; "courtd serve --help" shows the settings.`;
      return [warn(`The variable ${name} has no effect (${settingsFrom}).`, advice)];
    }
    const wrong = variables.faultOf(name, value);
    if (wrong !== undefined)
      return [fail(`${name} has a wrong value (${settingsFrom}).`, `${wrong} Correct it, ${restart}.`)];
    if (settingsFile === undefined || !['COURTD_HOST', 'COURTD_PORT'].includes(name)) return [];
    const advice = `Remove ${name}, and move the port with "sudo systemctl edit courtd.socket".`;
    return [warn(`${name} is not used: under systemd courtd.socket holds the port.`, advice)];
  });
  if ('COURTD_TLS_CERT' in settings !== 'COURTD_TLS_KEY' in settings) {
    const half = 'Only one of COURTD_TLS_CERT and COURTD_TLS_KEY is set, so courtd does not start.';
    faults.push(fail(half, `Set both or neither, ${restart}.`));
  }
  return faults.length > 0 ? faults : [ok(`The settings are valid (${settingsFrom}).`)];
}

async function clock(): Promise<Finding> {
  const { status, stdout } = await askTool('timedatectl', 'show', '--property=NTPSynchronized');
  if (status !== 0) {
    const advice = 'Compare "date" with a clock that is right.';
    return warn('timedatectl does not answer, so nothing is known of a time server.', advice);
  }
  if (/^NTPSynchronized=yes$/m.test(stdout)) return ok('The clock follows a time server.');
  return warn(
    'The clock follows no time server, so it drifts.',
    '"sudo apt install chrony", and name a time server of the venue if there is no internet; /usr/share/doc/courtd/examples/chrony-courtd.conf lets cameras follow the box.',
  );
}

async function timer(): Promise<Finding> {
  const name = 'courtd-backup.timer';
  const { status } = await askTool('systemctl', 'is-active', '--quiet', name);
  if (status === 0) return ok(`${name} is active.`);
  return warn(`${name} is not active.`, `Run "sudo systemctl enable --now ${name}".`);
}

async function backup({ settings: { COURTD_BACKUP_DIR: place }, data }: Box): Promise<Finding> {
  if (place === undefined) {
    const advice = 'Set it in /etc/courtd/courtd.env to a directory on another disk.';
    return warn('No nightly backup is made: COURTD_BACKUP_DIR is not set.', advice);
  }
  const [there, own] = await Promise.all(
    [place, data.path].map((name) => fs.stat(name).catch(() => undefined)),
  );
  if (there?.isDirectory() !== true) {
    return fail(
      `There is no directory ${place} for backups (COURTD_BACKUP_DIR).`,
      'Mount its disk, or create it.',
    );
  }
  if (there.dev !== own?.dev) return ok(`Backups go to ${place}, on another disk than the events.`);
  return warn(
    `Backups go to ${place}, on the disk of the events: if it fails, both are lost.`,
    'Set COURTD_BACKUP_DIR to a directory on another disk.',
  );
}

/** Connects and ends without a request, which the daemon would count as one that it rejected. */
async function port(box: Box): Promise<Finding> {
  const listener = listening(box, box.daemon);
  const [to, { port, isTls }] = [nearestOf(listener), listener];
  const place = placeOf(to, port);
  if (box.daemon === undefined) {
    return warn(`${place} was not tried, because no daemon answers.`, '"courtd status" shows why.');
  }
  const socket = net.connect({ host: to, port, timeout: KNOCK_MS });
  socket.once('timeout', () => socket.destroy(new Error(`no answer within ${KNOCK_MS / 1_000} s`)));
  try {
    await once(socket, 'connect');
    await once(socket.resume().end(), 'close');
  } catch (error) {
    const advice = 'Look at "systemctl status courtd.socket courtd", and at the firewall of this machine.';
    return fail(`${place} does not answer from here: ${(error as Error).message}.`, advice);
  }
  if (isTls) return ok(`${place} answers from here, over TLS.`);
  if (isLoopback(listener.host)) return ok(`${place} answers from here, and from no other machine.`);
  return warn(
    `${place} answers from here, without TLS: everybody on this network can read the token.`,
    'Set COURTD_TLS_CERT and COURTD_TLS_KEY, or keep other devices out of the network of the cameras.',
  );
}

async function sync({ data }: Box): Promise<Finding> {
  const file = data.at(`.courtd-check.${process.pid}`);
  await using handle = await fs.open(file, 'wx', 0o660);
  // Without a name, nothing of it outlives this process.
  await fs.rm(file);
  const times: number[] = [];
  while (times.length < SYNCS) {
    await handle.write(Buffer.alloc(SYNC_BYTES, times.length));
    const startedAt = performance.now();
    await handle.datasync();
    times.push(performance.now() - startedAt);
  }
  const ms = times.sort((a, b) => a - b)[SYNCS >> 1]!;
  const rate = Math.max(1, Math.round(1_000 / ms));
  const text = `A sync of this disk takes ${ms.toFixed(ms < 10 ? 1 : 0)} ms: at most about ${rate} commits per second.`;
  if (ms < SLOW_SYNC_MS) return ok(text);
  return warn(text, 'It is a worn SD card or a slow stick, and cameras wait for it: use an SSD.');
}

/** Shows how far a long check is. */
interface Progress {
  show(text: () => string): void;
  clear(): void;
}

const RESTORE = problem('damage').advice;

const FAULTS: readonly (readonly [keyof Consistency, (count: number) => string])[] = [
  ['damaged', (n) => `${counted(n, 'event')} damaged: exports name them and leave them out.`],
  ['withoutKey', (n) => `${counted(n, 'event')} without its own key: stored twice, or will be when resent.`],
  ['astray', (n) => `${counted(n, 'key')} without the event that it is of.`],
  ['miscounted', (n) => `${counted(n, 'session')} with another number of events than it counts.`],
];

/**
 * `courtd check --full`: reads every page, every event with its checksum and its key, and every count. The write-ahead log of the
 * daemon grows meanwhile, as long as it takes. A signal ends the process.
 */
export async function checkDatabase(data: DataDirectory, progress: Progress): Promise<CheckResult[]> {
  const look = () =>
    withDatabase({ data }, (db) => {
      progress.show(() => 'every page is read');
      const lines = db.pragma('integrity_check') as { integrity_check: string }[];
      const bad = lines.filter((line) => line.integrity_check !== 'ok').length;
      const found = checkConsistency(db, (events) => progress.show(() => `${events} events read`));
      const faults = [
        ...(bad === 0 ? [] : [`The integrity check of SQLite finds ${counted(bad, 'fault')}.`]),
        ...FAULTS.filter(([name]) => found[name] > 0).map(([name, tell]) => tell(found[name])),
      ];
      if (faults.length > 0) return faults.map((fault) => fail(fault, RESTORE));
      return ok('Every page, every event, every key and every count is right.');
    });
  yieldToIngest();
  try {
    return await checked('database', look);
  } finally {
    progress.clear();
  }
}
