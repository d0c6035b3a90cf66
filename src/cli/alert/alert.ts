import fs from 'node:fs';
import path from 'node:path';
import { explainWriteErrors } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { DaemonHangs } from '../../control/controlClient.ts';
import { askProblems } from '../../control/problemsRoute.ts';
import type { Look } from '../../health/alert/alertBook.ts';
import { Alerter, type Moment } from '../../health/alert/alerter.ts';
import { type AlertSettings, targetsOf } from '../../health/alert/alertTargets.ts';
import { Pinger } from '../../health/alert/pinger.ts';
import { boxName } from '../../health/alert/testAlert.ts';
import { ToldFile } from '../../health/alert/toldFile.ts';
import type { LastingProblem } from '../../health/finding.ts';
import { problem } from '../../health/problemTexts.ts';
import { nightlyProblems } from '../../health/storeView.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { say } from '../terminal/output.ts';

interface AlertOptions extends DataOption, AlertSettings {
  /** A directory. */
  readonly state?: string;
  readonly once?: boolean;
}

/** How often the daemon is asked, and how often it is looked whether something is due. */
const LOOK_MS = 20_000;
const TICK_MS = 1_000;

/** `courtd alert`: the exit status is 1 where, with `--once`, a message was not taken. */
export async function alert(options: AlertOptions): Promise<void> {
  const { state: directory, once: isOnce = false } = options;
  const targets = targetsOf(options);
  if (targets.length === 0 && options.ping === undefined) {
    throw new UsageError(
      'Nobody is to be told: set COURTD_ALERT_URL, COURTD_ALERT_COMMAND or COURTD_PING_URL.',
    );
  }
  if (directory === undefined) throw new UsageError('Say where to keep what has been told: --state DIR.');
  explainWriteErrors(directory, () => fs.mkdirSync(directory, { recursive: true, mode: 0o700 }));
  const file = new ToldFile(path.join(directory, 'told.json'), sayAs);
  const alerter = new Alerter({
    box: boxName(process.env),
    targets,
    told: file.read(),
    keep: (told) => file.keep(told),
    say: sayAs,
    isOnce,
  });
  const pinger = new Pinger(options.ping, sayAs);
  if (isOnce) {
    const isTaken = await once(options.data, alerter, pinger);
    process.exitCode = isTaken && file.isKept ? 0 : 1;
  } else {
    await watch(options.data, alerter, pinger, file);
  }
}

async function once(data: DataDirectory, alerter: Alerter, pinger: Pinger): Promise<boolean> {
  const look = await lookAt(data, sayChanges());
  if (look !== null) alerter.look(look, now());
  const isTaken = await alerter.deliver(now());
  return (await pinger.ping(look, now())) && isTaken && look !== null;
}

async function watch(data: DataDirectory, alerter: Alerter, pinger: Pinger, file: ToldFile): Promise<void> {
  const ending = abortOnSignal();
  const sayFault = sayChanges();
  for (let nextMs = 0; !ending.aborted; await pause(TICK_MS, ending)) {
    if (now().ms >= nextMs) {
      nextMs = now().ms + LOOK_MS;
      const look = await lookAt(data, sayFault);
      if (look !== null) alerter.look(look, now());
      await pinger.ping(look, now());
      file.keep();
    }
    await alerter.deliver(now());
  }
}

/** @returns null where nothing can be said of the box now. */
async function lookAt(data: DataDirectory, sayFault: (fault?: string) => void): Promise<Look | null> {
  try {
    const report = await askProblems(data);
    sayFault(report === null ? 'The daemon runs, but cannot read its database now.' : undefined);
    if (report === undefined) return { unanswered: problem('daemon_stopped') };
    if (report === null) return null;
    return {
      ...report,
      problems: together(report.problems, await nightlyProblems(data, report.last_backup_at)),
    };
  } catch (error) {
    if (error instanceof DaemonHangs) return { unanswered: problem('daemon_hangs', error.message) };
    if (!(error instanceof OperatorError)) throw error;
    sayFault(error.message);
    return null;
  }
}

/** @returns says a fault where it is not the one of the look before. */
function sayChanges(): (fault?: string) => void {
  let last: string | undefined;
  return (fault) => {
    if (fault !== undefined && fault !== last) sayAs(fault);
    last = fault;
  };
}

/** @param nightly seen from here; a backup that failed says more than one that is old. */
function together(
  problems: readonly LastingProblem[],
  nightly: readonly LastingProblem[],
): readonly LastingProblem[] {
  const codes = nightly.map(({ code }) => code);
  if (codes.includes('backup_failed')) codes.push('no_backup');
  return [...problems.filter(({ code }) => !codes.includes(code)), ...nightly];
}

function sayAs(sentence: string): void {
  say(`courtd: ${sentence}`);
}

function now(): Moment {
  return { ms: performance.now(), atMs: Date.now() };
}
