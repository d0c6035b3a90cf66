import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Logger } from 'pino';

/** Watchdog notifications in each of its periods: sd_watchdog_enabled(3) recommends at least two. */
const WATCHDOG_PINGS = 3;
/** How soon `systemctl status` shows a new token or a full disk. A check takes microseconds. */
export const STATUS_CHECK_MS = 1_000;
/** How long a command waits until `systemctl status` shows what it has changed. */
const REFRESH_MS = 1_000;
/** systemd-notify itself waits up to 5 s until its message has been read. */
const NOTIFY_TIMEOUT_MS = 10_000;

/** The health of a daemon that is ready. */
interface Health {
  /** One line, which `systemctl status` shows. */
  status(): string;
  /** Resolves once the store has answered; rejects where it cannot. */
  check(): Promise<void>;
}

const VARIABLES = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const;

/**
 * sd_notify(3): readiness, a status line, and the watchdog. Does nothing without systemd.
 *
 * The messages go through the program systemd-notify, because Node has no unix datagram socket. Measured: `node:ffi` calling
 * sendto in libc takes 0.03 ms, a process of systemd-notify 8 ms. But that API is experimental, and a box in a cupboard runs for
 * years; a process a minute costs nothing, and the program is part of systemd. It needs NotifyAccess=all, since it may not send
 * under the daemon's process id. It does not exit before systemd has looked up which unit sent the message: since systemd 246
 * it waits until the message has been processed.
 */
export class SystemdNotifier {
  readonly #socket: string | undefined;
  /** Milliseconds; undefined where there is no watchdog. */
  readonly #watchdogMs: number | undefined;
  readonly #log: Logger;
  #timers: NodeJS.Timeout[] = [];
  #last: Promise<void> = Promise.resolve();
  #status = '';
  #hasFailed = false;
  /** What the current watchdog ping is waiting for: the health check, or the message to systemd. */
  #pinging: 'check' | 'send' | undefined;
  #hasReportedFailure = false;

  /** Removes systemd's variables from `env`: no child process may notify systemd, or ping the watchdog. */
  constructor(log: Logger, env: NodeJS.ProcessEnv = process.env) {
    const { NOTIFY_SOCKET, WATCHDOG_USEC = '', WATCHDOG_PID = String(process.pid) } = env;
    for (const name of VARIABLES) delete env[name];
    this.#log = log;
    this.#socket = NOTIFY_SOCKET || undefined;
    const microseconds = /^\d{1,15}$/.test(WATCHDOG_USEC) ? Number(WATCHDOG_USEC) : 0;
    const isForUs = WATCHDOG_PID === String(process.pid) && microseconds > 0;
    this.#watchdogMs = isForUs ? microseconds / 1000 : undefined;
  }

  /** Whether systemd, or another supervisor with its protocol, expects messages. */
  get isSupervised(): boolean {
    return this.#socket !== undefined;
  }

  /** Shows that the start is on its way. The unit has no timeout for it: an upgrade copies the database. */
  starting(): void {
    void this.#send(...this.#statusLine('starting'));
  }

  /** Reports readiness; from now on also changes of the status, and the watchdog's pings. */
  ready(health: Health): void {
    this.#stopTimers();
    void this.#send('READY=1', ...this.#statusLine(health.status()));
    this.#repeat(() => {
      const lines = this.#statusLine(health.status());
      if (lines.length > 0) void this.#send(...lines);
    }, STATUS_CHECK_MS);
    if (this.#watchdogMs === undefined) return;
    this.#repeat(() => void this.#ping(health), this.#watchdogMs / WATCHDOG_PINGS);
  }

  /** Shows why the start failed while systemd waits to restart: it shows no log lines of a previous attempt. */
  failed(sentence: string): Promise<void> {
    this.#stopTimers();
    return this.#send(...this.#statusLine(oneLine(sentence)));
  }

  /**
   * Stops the watchdog's pings: from now on systemd enforces TimeoutStopSec= instead. Resolves when systemd has that, or does not
   * take it at once.
   */
  async stopping(): Promise<void> {
    this.#stopTimers();
    const sent = this.#send(
      'STOPPING=1',
      ...this.#statusLine('stopping: requests in progress are answered first'),
    );
    await Promise.race([sent, sleep(REFRESH_MS)]);
  }

  /** Pings the watchdog only while the store answers: a timer alone would prove that timers work. */
  async #ping(health: Health): Promise<void> {
    if (this.#pinging === 'check') this.#reportFailure({});
    if (this.#pinging !== undefined) return;
    this.#pinging = 'check';
    try {
      await health.check();
      this.#hasReportedFailure = false;
      this.#pinging = 'send';
      await this.#send('WATCHDOG=1', ...this.#statusLine(health.status()));
    } catch (err) {
      this.#reportFailure({ err });
    } finally {
      this.#pinging = undefined;
    }
  }

  #reportFailure(fields: object): void {
    if (this.#hasReportedFailure) return;
    this.#hasReportedFailure = true;
    this.#log.error(
      fields,
      'the store does not answer: if that lasts, systemd kills courtd and starts it again',
    );
  }

  /** @returns the STATUS= line; nothing where systemd has this status already. */
  #statusLine(status: string): string[] {
    if (status === this.#status) return [];
    this.#status = status;
    return [`STATUS=${status}`];
  }

  #repeat(work: () => void, everyMs: number): void {
    if (this.isSupervised) this.#timers.push(setInterval(work, everyMs).unref());
  }

  #stopTimers(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
  }

  /** Sends messages one after the other. A failure is logged once, and never stops the daemon. */
  #send(...assignments: string[]): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) return Promise.resolve();
    this.#last = this.#last
      .then(() => run(assignments, { PATH: process.env.PATH, NOTIFY_SOCKET: socket }))
      .catch((err) => {
        if (!this.#hasFailed) this.#log.warn({ err }, 'cannot notify systemd: systemd-notify failed');
        this.#hasFailed = true;
        // It may have been in this message: the next look sends it again.
        this.#status = '';
      });
    return this.#last;
  }
}

/** As `failed`, for invalid settings, before there is a log or a notifier. Never throws. */
export async function tellFailure(sentence: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const { PATH, NOTIFY_SOCKET } = env;
  if (!NOTIFY_SOCKET) return;
  await run([`STATUS=${oneLine(sentence)}`], { PATH, NOTIFY_SOCKET }).catch(() => {});
}

/** In systemd's protocol, a line break ends the assignment. */
function oneLine(sentence: string): string {
  return sentence.replaceAll(/\s+/g, ' ').trim();
}

async function run(assignments: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  await promisify(execFile)('systemd-notify', assignments, { env, timeout: NOTIFY_TIMEOUT_MS });
}
