import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { urlToHttpOptions } from 'node:url';
import { writeAtomically } from '../base/atomicFile.ts';
import { requestAnswer } from '../base/httpAnswer.ts';
import { OperatorError, UsageError } from '../base/operatorError.ts';
import { isQuiet, quietHoursOf } from '../base/quietHours.ts';
import { isoTime } from '../base/units.ts';
import { visible } from '../base/visibleText.ts';
import type { Status } from './boxStatus.ts';
import { problem, type StatusProblem } from './problems.ts';

/** `courtd alert`: compares `status.json` with the last message that was accepted, and sends the difference. */

/** The message, as JSON: the body for COURTD_ALERT_URL, the standard input of COURTD_ALERT_COMMAND. */
export interface AlertMessage {
  readonly box: string;
  readonly at: string;
  readonly state: Status['state'];
  /** The whole message as sentences, for chats: at most TEXT_CHARS. */
  readonly text: string;
  readonly new: readonly StatusProblem[];
  readonly solved: readonly StatusProblem[];
}

/** By what stays the same of each while it lasts. */
type Problems = ReadonlyMap<string, StatusProblem>;

/** Between two messages, between two pings, and from the start of a daemon until it has found every problem again. */
const PAUSE_MS = 5 * 60_000;
/** Without a daemon, or with one that hangs, `status.json` gets older than this. */
const STATUS_STALE_MS = 120_000;
const SEND_MS = 15_000;
/** ntfy takes 4,096 bytes, and each of these takes at most three. */
const TEXT_CHARS = 1_300;

export class Alert {
  readonly #statusFile: string;
  /** Keeps what was sent across restarts; without it a restart sends all problems again. */
  readonly #stateFile: string | undefined;
  readonly #env: NodeJS.ProcessEnv;
  readonly #log: (sentence: string) => void;
  #sent: Problems;
  /** What the look before has found: a difference is sent if two looks have found it. */
  #before: Problems = new Map();
  #messageMs = Number.NEGATIVE_INFINITY;
  #pingMs = Number.NEGATIVE_INFINITY;
  #started: { readonly at: string | null | undefined; readonly ms: number } | undefined;

  /** @param env has the settings. @throws {UsageError} if nobody is to be alerted. */
  constructor(runDir: string, env: NodeJS.ProcessEnv, log: (sentence: string) => void) {
    const { COURTD_ALERT_URL: url, COURTD_ALERT_COMMAND: command, COURTD_PING_URL: ping } = env;
    if ((url ?? command ?? ping) === undefined) {
      throw new UsageError(
        'No alert is set up. Set COURTD_ALERT_URL, COURTD_ALERT_COMMAND or COURTD_PING_URL.',
      );
    }
    this.#statusFile = path.join(runDir, 'status.json');
    this.#stateFile = env.STATE_DIRECTORY && path.join(env.STATE_DIRECTORY, 'sent.json');
    this.#env = env;
    this.#log = log;
    this.#sent = readState(this.#stateFile);
  }

  /** Reads `status.json`, and sends and pings if that is due. Call it once a minute. @param nowMs of a clock that never jumps. */
  async look(nowMs: number): Promise<void> {
    const { state, problems, daemon } = readStatus(this.#statusFile);
    if (this.#started?.at !== daemon?.started_at) this.#started = { at: daemon?.started_at, ms: nowMs };
    const [found, before, sent] = [byKey(problems), this.#before, this.#sent];
    this.#before = found;
    const quiet = quietHoursOf(this.#env.COURTD_QUIET ?? '');
    // Without a daemon nothing is known of the other problems.
    const mayBeSolved =
      daemon !== undefined &&
      nowMs - (this.#started?.ms ?? nowMs) >= PAUSE_MS &&
      !(quiet && isQuiet(quiet, new Date()));
    const fresh = [...found].filter(([key]) => before.has(key) && !sent.has(key));
    const kept = [...sent].filter(([key]) => !mayBeSolved || before.has(key) || found.has(key));
    const isDue = fresh.length + sent.size > kept.length && nowMs - this.#messageMs >= PAUSE_MS;
    const next = new Map([...kept, ...fresh]);
    if (isDue && (await this.send(state, without(next, sent), without(sent, next)))) {
      this.#messageMs = nowMs;
      this.#keep(next);
    }
    const { COURTD_PING_URL: ping } = this.#env;
    if (ping === undefined || !['ok', 'attention'].includes(state) || nowMs - this.#pingMs < PAUSE_MS) return;
    // A dead-man's switch elsewhere alerts somebody if the pings stop.
    if (this.#isAccepted('COURTD_PING_URL', await request(ping))) this.#pingMs = nowMs;
  }

  /** @returns whether the address or the command accepted it: each that is set gets it. */
  async send(
    state: Status['state'],
    now: readonly StatusProblem[],
    solved: readonly StatusProblem[],
  ): Promise<boolean> {
    const { COURTD_ALERT_URL: url, COURTD_ALERT_COMMAND: command, COURTD_SHIP_BOX } = this.#env;
    const box = COURTD_SHIP_BOX ?? os.hostname();
    const text = textOf(box, now, solved);
    const message: AlertMessage = { box, at: isoTime(Date.now()), state, text, new: now, solved };
    const body = JSON.stringify(message);
    const posted = url !== undefined && this.#isAccepted('COURTD_ALERT_URL', await request(url, body));
    const ran = command !== undefined && this.#isAccepted('COURTD_ALERT_COMMAND', run(command, body));
    return posted || ran;
  }

  #isAccepted(name: string, fault: string | undefined): boolean {
    if (fault !== undefined) this.#log(`${name} was not accepted: ${fault}.`);
    return fault === undefined;
  }

  #keep(sent: Problems): void {
    this.#sent = sent;
    if (this.#stateFile === undefined) return;
    try {
      writeAtomically(this.#stateFile, JSON.stringify([...sent.values()]));
    } catch (error) {
      // A full disk is a problem to send, so it must not end this process.
      if (!(error instanceof OperatorError)) throw error;
      this.#log(error.message);
    }
  }
}

/** @returns what the daemon wrote; a problem instead if that is missing or old. */
function readStatus(file: string): Pick<Status, 'state' | 'problems'> & Partial<Status> {
  try {
    const ageMs = Math.abs(Date.now() - fs.statSync(file).mtimeMs);
    if (ageMs <= STATUS_STALE_MS) return JSON.parse(fs.readFileSync(file, 'utf8'));
    return { state: 'failing', problems: [problem('daemon_hangs')] };
  } catch {
    // Missing, closed to this user or damaged: the same problem for the reader of the alert.
    return { state: 'stopped', problems: [problem('daemon_stopped')] };
  }
}

/** @returns what was sent; nothing if the file is missing or damaged: then all problems are sent again. */
function readState(file: string | undefined): Problems {
  try {
    return byKey(file === undefined ? [] : JSON.parse(fs.readFileSync(file, 'utf8')));
  } catch {
    return new Map();
  }
}

/** Numbers and times change while a problem lasts; those inside of names, such as cam-1, do not. */
const CHANGING =
  /(?<![\w.:-])(?:once|\d+(?:\.\d+)?(?: (?:s|min|h|d|days?|times?|events?|[KMGT]?i?B)\b)?|\d{4}-\d\d-\d\dT[\d:.]+Z)(?![\w:-]|\.\d)/g;

function byKey(problems: readonly StatusProblem[]): Problems {
  const keyOf = ({ code, message }: StatusProblem) =>
    `${code} ${message.replace(CHANGING, '').replace(/\s+/g, ' ')}`;
  return new Map(problems.map((one) => [keyOf(one), one]));
}

function without(all: Problems, others: Problems): StatusProblem[] {
  return [...all].filter(([key]) => !others.has(key)).map(([, one]) => one);
}

function textOf(box: string, now: readonly StatusProblem[], solved: readonly StatusProblem[]): string {
  const lines = [
    ...now.map(({ message, advice }) => `${message} ${advice}`),
    ...solved.map(({ message }) => `Solved: ${message}`),
  ];
  if (lines.length === 0) lines.push('This is a test of courtd alert, which shows no state of the box.');
  const text = [box, ...lines].map(visible).join('\n');
  if (text.length <= TEXT_CHARS) return text;
  return `${text.slice(0, TEXT_CHARS).toWellFormed()}… "courtd status" on the box shows all ${now.length}.`;
}

/**
 * Posts a body, or gets what is there. A redirect is not followed: it leads to a page that accepts anything.
 * @returns why it was not accepted; without the address, which may hold a secret.
 */
async function request(address: string, body?: string): Promise<string | undefined> {
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { 'Content-Type': 'application/json' };
  try {
    const options = { ...urlToHttpOptions(new URL(address)), method, headers, agent: false };
    // What it says about its status changes nothing.
    const { status } = await requestAnswer(options, body, { wholeMs: SEND_MS, chars: 1 });
    return status >= 200 && status < 300 ? undefined : `it answered ${status}`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `it cannot be reached (${code ?? message})`;
  }
}

/** @returns why it did not accept. Of courtd's own settings, which hold secrets, the command gets none. */
function run(command: string, input: string): string | undefined {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COURTD_')));
  // timeout(1) ends what the shell has started, too.
  const args = ['--kill-after=1', `${SEND_MS / 1_000}`, '/bin/sh', '-c', command];
  const { status } = spawnSync('timeout', args, { env, input, stdio: ['pipe', 'ignore', 'inherit'] });
  return status === 0 ? undefined : `it ended with exit status ${status}`;
}
