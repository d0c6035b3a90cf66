import fs from 'node:fs';
import path from 'node:path';
import { createPartial, publish } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { DaemonHangs } from '../../control/controlClient.ts';
import { askProblems } from '../../control/problemsRoute.ts';
import type { Look } from '../../health/alert/alertBook.ts';
import { Alerter, type Moment, type ToldByTarget } from '../../health/alert/alerter.ts';
import { type AlertSettings, ping, targetsOf } from '../../health/alert/alertTargets.ts';
import { boxName } from '../../health/alert/testAlert.ts';
import type { LastingProblem } from '../../health/finding.ts';
import { problem } from '../../health/rules.ts';
import { nightlyProblems } from '../../health/storeView.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { say } from '../terminal/output.ts';

export interface AlertOptions extends DataOption, AlertSettings {
  /** A directory. */
  readonly state?: string;
  readonly once?: boolean;
}

/** How often the daemon is asked, and how often it is looked whether something is due. */
const LOOK_MS = 20_000;
const TICK_MS = 1_000;
const PING_MS = 5 * 60_000;

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
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = path.join(directory, 'told.json');
  const alerter = new Alerter({
    box: boxName(process.env),
    targets,
    told: readTold(file),
    keep: (told) => keep(file, told),
    say: (sentence) => say(`courtd: ${sentence}`),
    isOnce,
  });
  const pinger = new Pinger(options.ping);
  if (isOnce) {
    const isTaken = await once(options.data, alerter, pinger);
    process.exitCode = isTaken ? 0 : 1;
  } else {
    await watch(options.data, alerter, pinger);
  }
}

async function once(data: DataDirectory, alerter: Alerter, pinger: Pinger): Promise<boolean> {
  const look = await lookAt(data);
  if (look !== null) alerter.look(look, now());
  const isTaken = await alerter.deliver(now());
  return (await pinger.ping(look, now())) && isTaken && look !== null;
}

async function watch(data: DataDirectory, alerter: Alerter, pinger: Pinger): Promise<void> {
  const ending = abortOnSignal();
  for (let nextMs = 0; !ending.aborted; await pause(TICK_MS, ending)) {
    if (now().ms >= nextMs) {
      nextMs = now().ms + LOOK_MS;
      const look = await lookAt(data);
      if (look !== null) alerter.look(look, now());
      await pinger.ping(look, now());
    }
    await alerter.deliver(now());
  }
}

/** @returns null where nothing can be said of the box now. */
async function lookAt(data: DataDirectory): Promise<Look | null> {
  try {
    const report = await askProblems(data);
    if (report === undefined) return { unanswered: problem('daemon_stopped') };
    if (report === null) return null;
    return {
      ...report,
      problems: together(report.problems, await nightlyProblems(data, report.last_backup_at)),
    };
  } catch (error) {
    if (error instanceof DaemonHangs) return { unanswered: problem('daemon_hangs', error.message) };
    if (!(error instanceof OperatorError)) throw error;
    say(`courtd: ${error.message}`);
    return null;
  }
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

/** A dead-man's switch: whoever does not hear of the box any more knows that it is gone. */
class Pinger {
  readonly #url: string | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(url: string | undefined) {
    this.#url = url;
  }

  /** @returns whether somebody heard it, where it was time to. */
  async ping(look: Look | null, { ms }: Moment): Promise<boolean> {
    const isWell = look !== null && !('unanswered' in look) && look.state !== 'failing';
    if (this.#url === undefined || !isWell || ms - this.#lastMs < PING_MS) return true;
    const fault = await ping(this.#url);
    // One that was not heard is tried again at the next look.
    if (fault === undefined) this.#lastMs = ms;
    if (fault !== undefined && !this.#hasFailed) {
      say(`courtd: COURTD_PING_URL does not hear this box: ${fault}. It is tried again until it does.`);
    }
    this.#hasFailed = fault !== undefined;
    return fault === undefined;
  }
}

function now(): Moment {
  return { ms: performance.now(), atMs: Date.now() };
}

/** @throws {OperatorError} where it cannot be read. What is no JSON was cut by nobody of ours: all is told again. */
function readTold(file: string): ToldByTarget {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    throw new OperatorError(`${file} cannot be read (${code}): give a directory of your own with --state.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** @throws {OperatorError} where it cannot be written. */
function keep(file: string, told: ToldByTarget): void {
  const partial = createPartial(file);
  fs.writeFileSync(partial, JSON.stringify(told));
  publish(partial, file);
}
