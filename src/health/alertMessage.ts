import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { writeAtomically } from '../base/atomicFile.ts';
import { OperatorError, UsageError } from '../base/operatorError.ts';
import { isQuiet, type QuietHours } from '../base/quietHours.ts';
import { isoTime, span } from '../base/units.ts';
import { visible } from '../base/visibleText.ts';
import type { Status } from './boxStatus.ts';
import type { StatusProblem } from './finding.ts';
import { problem } from './problems.ts';

/** `courtd alert`: compares `status.json` with the last message that was accepted, and sends the difference. */

/** The message, as JSON: the body for COURTD_ALERT_URL, the standard input of COURTD_ALERT_COMMAND. */
export interface AlertMessage {
  readonly box: string;
  readonly at: string;
  readonly state: Status['state'];
  /** The whole message as sentences, for chats: at most TEXT_BYTES. */
  readonly text: string;
  readonly new: readonly StatusProblem[];
  readonly solved: readonly StatusProblem[];
}

export interface AlertSettings {
  readonly box: string;
  readonly runDir: string;
  readonly url?: string | undefined;
  readonly command?: string | undefined;
  readonly ping?: string | undefined;
  readonly quiet?: QuietHours | undefined;
  /** Keeps what was sent across restarts; without it a restart sends all problems again. */
  readonly stateFile?: string | undefined;
  readonly log: (sentence: string) => void;
}

/** A difference that does not last this long is not sent. */
const STEADY_MS = 60_000;
/** Between two messages, and between two pings. */
const PAUSE_MS = 5 * 60_000;
/** A daemon that has just started may not have found every problem again. */
const SETTLE_MS = 5 * 60_000;
/** Without a daemon, or with one that hangs, `status.json` gets older than this. */
const STATUS_STALE_MS = 120_000;
const SEND_MS = 15_000;
/** ntfy takes 4,096 bytes. */
const TEXT_BYTES = 3_900;

export class Alert {
  readonly #settings: AlertSettings;
  #sent: ReadonlyMap<string, StatusProblem>;
  /** Since when a problem is new or solved, by its key. */
  #since = new Map<string, number>();
  #messageMs = Number.NEGATIVE_INFINITY;
  #pingMs = Number.NEGATIVE_INFINITY;
  #startedAt: string | null | undefined;
  #startMs = 0;

  /** @throws {UsageError} if an address is not one, or nobody is to be alerted. */
  constructor(settings: AlertSettings) {
    const { url, command, ping, stateFile } = settings;
    for (const address of [url, ping]) {
      if (address === undefined || /^https?:$/.test(URL.parse(address)?.protocol ?? '')) continue;
      throw new UsageError(
        'An alert address is not a URL. Begin COURTD_ALERT_URL and COURTD_PING_URL with http:// or https://.',
      );
    }
    if (url === undefined && command === undefined && ping === undefined) {
      throw new UsageError(
        'Nobody is to be alerted. Set COURTD_ALERT_URL, COURTD_ALERT_COMMAND or COURTD_PING_URL.',
      );
    }
    this.#settings = settings;
    this.#sent = byKey(stateFile === undefined ? [] : readState(stateFile));
  }

  /** Reads `status.json`, and sends and pings if that is due. @param nowMs of a clock that never jumps. */
  async look(nowMs: number): Promise<void> {
    const { runDir, quiet } = this.#settings;
    const status = readStatus(runDir);
    if (status.daemon?.started_at !== this.#startedAt) {
      this.#startedAt = status.daemon?.started_at;
      this.#startMs = nowMs;
    }
    const found = byKey(status.problems);
    // Without a daemon nothing is known of the other problems.
    const mayBeSolved =
      status.daemon !== undefined &&
      nowMs - this.#startMs >= SETTLE_MS &&
      !(quiet && isQuiet(quiet, new Date()));
    const isSteady = ([key]: readonly [string, StatusProblem]) =>
      nowMs - (this.#since.get(key) ?? nowMs) >= STEADY_MS;
    const fresh = [...found].filter(([key]) => !this.#sent.has(key));
    const gone = mayBeSolved ? [...this.#sent].filter(([key]) => !found.has(key)) : [];
    this.#since = new Map([...fresh, ...gone].map(([key]) => [key, this.#since.get(key) ?? nowMs]));
    const now = new Map(fresh.filter(isSteady));
    const solved = new Map(gone.filter(isSteady));
    const isDue = now.size + solved.size > 0 && nowMs - this.#messageMs >= PAUSE_MS;
    if (isDue && (await this.send(status.state, [...now.values()], [...solved.values()]))) {
      this.#messageMs = nowMs;
      this.#keep(new Map([...[...this.#sent].filter(([key]) => !solved.has(key)), ...now]));
    }
    await this.#ping(status.state, nowMs);
  }

  /** @returns whether the address or the command accepted it: each that is set gets it. */
  async send(
    state: Status['state'],
    now: readonly StatusProblem[],
    solved: readonly StatusProblem[],
  ): Promise<boolean> {
    const { box, url, command, log } = this.#settings;
    const text = textOf(box, now, solved);
    const message: AlertMessage = { box, at: isoTime(Date.now()), state, text, new: now, solved };
    const body = JSON.stringify(message);
    const headers = { 'Content-Type': 'application/json' };
    const faults = await Promise.all([
      // A POST that follows a redirect may become a GET of some page that accepts anything.
      url === undefined ? 'unset' : request(url, { method: 'POST', headers, body, redirect: 'manual' }),
      command === undefined ? 'unset' : run(command, body),
    ]);
    for (const [i, name] of ['COURTD_ALERT_URL', 'COURTD_ALERT_COMMAND'].entries()) {
      if (faults[i] === undefined) log(`${name} accepted ${now.length} new and ${solved.length} solved.`);
      else if (faults[i] !== 'unset') log(`${name} did not accept a message: ${faults[i]}.`);
    }
    return faults.includes(undefined);
  }

  /** A dead-man's switch elsewhere alerts somebody if the pings stop. */
  async #ping(state: Status['state'], nowMs: number): Promise<void> {
    const { ping, log } = this.#settings;
    if (ping === undefined || !['ok', 'attention'].includes(state) || nowMs - this.#pingMs < PAUSE_MS) return;
    const fault = await request(ping, {});
    if (fault === undefined) this.#pingMs = nowMs;
    else log(`COURTD_PING_URL cannot be fetched: ${fault}.`);
  }

  #keep(sent: ReadonlyMap<string, StatusProblem>): void {
    this.#sent = sent;
    const { stateFile, log } = this.#settings;
    try {
      if (stateFile !== undefined) writeAtomically(stateFile, JSON.stringify([...sent.values()]));
    } catch (error) {
      // A full disk is a problem to send, so it must not end this process.
      if (!(error instanceof OperatorError)) throw error;
      log(error.message);
    }
  }
}

/** @returns what the daemon wrote; a problem instead if that is missing or old. */
function readStatus(runDir: string): Pick<Status, 'state' | 'problems'> & Partial<Pick<Status, 'daemon'>> {
  const file = path.join(runDir, 'status.json');
  let ageMs: number | undefined;
  try {
    ageMs = Math.abs(Date.now() - fs.statSync(file).mtimeMs);
    if (ageMs <= STATUS_STALE_MS) return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    // Missing, closed to this user or damaged: the same problem for the reader of the alert.
  }
  const hangs = `The daemon has not written ${file} for ${span((ageMs ?? 0) / 1_000)}.`;
  if (ageMs === undefined) return { state: 'stopped', problems: [problem('daemon_stopped')] };
  return { state: 'failing', problems: [problem('daemon_hangs', hangs)] };
}

/** Numbers and times change while a problem lasts; those inside of names, such as cam-1, do not. */
const CHANGING =
  /(?<![\w.:-])(?:once|\d+(?:\.\d+)?(?: (?:s|min|h|d|days?|times?|times a minute|events?|[KMGT]?i?B)\b)?|\d{4}-\d\d-\d\dT[\d:.]+Z)(?![\w:-]|\.\d)/g;

/** @returns problems by a key that stays the same while a problem lasts. */
function byKey(problems: readonly StatusProblem[]): Map<string, StatusProblem> {
  return new Map(
    problems.map((one) => [`${one.code} ${one.message.replace(CHANGING, '').replace(/\s+/g, ' ')}`, one]),
  );
}

function readState(file: string): StatusProblem[] {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')).filter(
      (one: StatusProblem) => typeof one.message === 'string',
    );
  } catch {
    // Missing or damaged: all problems are sent again.
    return [];
  }
}

function textOf(box: string, now: readonly StatusProblem[], solved: readonly StatusProblem[]): string {
  const lines = [
    ...now.map(({ message, advice }) => `${message} ${advice}`),
    ...solved.map(({ message }) => `Solved: ${message}`),
  ];
  if (lines.length === 0) lines.push('This is a test of courtd alert: nothing is wrong.');
  const text = [box, ...lines].map(visible).join('\n');
  if (Buffer.byteLength(text) <= TEXT_BYTES) return text;
  // A character that is cut in the middle is left out.
  const cut = new TextDecoder().decode(Buffer.from(text).subarray(0, TEXT_BYTES), { stream: true });
  return `${cut}… "courtd status" on the box shows all ${now.length}.`;
}

/** @returns why it did not accept; without the address, which may hold a secret. */
async function request(address: string, options: RequestInit): Promise<string | undefined> {
  const url = new URL(address);
  const headers = new Headers(options.headers);
  try {
    // As curl does; fetch refuses an address with a password.
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    if (user !== '' || password !== '') headers.set('Authorization', `Basic ${btoa(`${user}:${password}`)}`);
    url.username = url.password = '';
    const response = await fetch(url, { ...options, headers, signal: AbortSignal.timeout(SEND_MS) });
    await response.body?.cancel();
    return response.ok ? undefined : `it answered ${response.status}`;
  } catch (error) {
    const { name, cause } = error as Error;
    if (name === 'TimeoutError') return `it did not answer within ${SEND_MS / 1_000} s`;
    const { code, message = '' } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
    return `it cannot be reached (${code ?? message})`;
  }
}

/** @returns why it did not accept. Of courtd's own settings, which hold secrets, the command gets none. */
async function run(command: string, body: string): Promise<string | undefined> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COURTD_')));
  // A process group of its own, so that what the shell has started ends with it.
  const child = spawn('/bin/sh', ['-c', command], {
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  });
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), SEND_MS);
  // A command that ends without reading is judged by its exit status.
  child.stdin.on('error', () => {}).end(body);
  try {
    const [status, signal] = await once(child, 'exit');
    return status === 0 ? undefined : `it ended with ${signal ?? `exit status ${status}`}`;
  } catch (error) {
    return `it cannot be started (${(error as NodeJS.ErrnoException).code})`;
  } finally {
    clearTimeout(timer);
  }
}
