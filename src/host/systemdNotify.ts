import { execFile } from 'node:child_process';
import type { Logger } from 'pino';

/** How often systemd's watchdog is fed in its period (sd_watchdog_enabled(3) says twice at least). */
const WATCHDOG_FEEDS = 3;
/** Until ready, systemd is asked this often to wait this long from then on: the barrier takes 30 s, copying more. */
const START_EXTEND_MS = { every: 10_000, by: 60_000 } as const;
/** How soon `systemctl status` shows that there is a token, or no room: before who has just made one looks. A look costs microseconds. */
export const STATUS_CHECK_MS = 1_000;
/** systemd-notify itself waits 5 s at most until its message has been read. */
const NOTIFY_TIMEOUT_MS = 10_000;

/** What systemd is told of a daemon that is ready. */
export interface Health {
  /** One line for people, as `systemctl status` shows it. */
  status(): string;
  /** @returns once the store has answered. */
  proof(): Promise<void>;
}

const VARIABLES = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const;

/**
 * sd_notify(3): readiness, a line of status, and the watchdog. Without systemd it does nothing.
 *
 * The messages go through systemd-notify, because Node has no datagram socket of the unix kind. Measured: `node:ffi` to
 * libc's sendto costs 0.03 ms, a process of systemd-notify 8 ms. But that API is experimental, and a box in a cupboard is
 * to run for years; a process a minute costs nothing, and the program is part of systemd itself. It needs
 * NotifyAccess=all, since it has no right to speak under our process id. It cannot be gone before systemd has
 * looked up whose message it was: since systemd 246 it waits until the message has been dealt with.
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
  /** What is being waited for: the proof, or that systemd has been told. */
  #feeding: 'prove' | 'send' | undefined;
  #isSilent = false;

  /** Takes what systemd has put into the environment: no child is to speak for us, or to feed the watchdog. */
  constructor(log: Logger, env: NodeJS.ProcessEnv = process.env) {
    const { NOTIFY_SOCKET, WATCHDOG_USEC = '', WATCHDOG_PID = String(process.pid) } = env;
    for (const name of VARIABLES) delete env[name];
    this.#log = log;
    this.#socket = NOTIFY_SOCKET || undefined;
    const microseconds = /^\d{1,15}$/.test(WATCHDOG_USEC) ? Number(WATCHDOG_USEC) : 0;
    const isForUs = WATCHDOG_PID === String(process.pid) && microseconds > 0;
    this.#watchdogMs = isForUs ? microseconds / 1000 : undefined;
  }

  /** Whether systemd, or another that speaks as it does, waits for our messages. */
  get isHeard(): boolean {
    return this.#socket !== undefined;
  }

  /** Until `ready`: start may take long, on a log that must be brought into the file. */
  starting(): void {
    const { every, by } = START_EXTEND_MS;
    const extend = () => void this.#send(`EXTEND_TIMEOUT_USEC=${by * 1000}`, ...this.#news('starting'));
    extend();
    this.#repeat(extend, every);
  }

  ready(health: Health): void {
    this.#stopTimers();
    void this.#send('READY=1', ...this.#news(health.status()));
    this.#repeat(() => {
      const news = this.#news(health.status());
      if (news.length > 0) void this.#send(...news);
    }, STATUS_CHECK_MS);
    if (this.#watchdogMs === undefined) return;
    this.#repeat(() => void this.#feed(health), this.#watchdogMs / WATCHDOG_FEEDS);
  }

  /** Why the start has failed, while systemd waits to try again: it shows no line of the log of an attempt that is over. */
  failed(sentence: string): Promise<void> {
    this.#stopTimers();
    return this.#send(...this.#news(oneLine(sentence)));
  }

  /** The watchdog is fed no more: systemd counts TimeoutStopSec= instead. */
  stopping(): void {
    this.#stopTimers();
    void this.#send('STOPPING=1', ...this.#news('stopping: what was accepted is answered first'));
  }

  /** Only while the store answers: a timer alone would prove that timers work. */
  async #feed(health: Health): Promise<void> {
    if (this.#feeding === 'prove') this.#complain({});
    if (this.#feeding !== undefined) return;
    this.#feeding = 'prove';
    try {
      await health.proof();
      this.#isSilent = false;
      this.#feeding = 'send';
      await this.#send('WATCHDOG=1', ...this.#news(health.status()));
    } catch (err) {
      this.#complain({ err });
    } finally {
      this.#feeding = undefined;
    }
  }

  #complain(fields: object): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    this.#log.error(
      fields,
      'the store does not answer: systemd ends courtd if that lasts, and starts it again',
    );
  }

  /** @returns the status where it is another one than systemd has. */
  #news(status: string): string[] {
    if (status === this.#status) return [];
    this.#status = status;
    return [`STATUS=${status}`];
  }

  #repeat(work: () => void, everyMs: number): void {
    if (this.isHeard) this.#timers.push(setInterval(work, everyMs).unref());
  }

  #stopTimers(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
  }

  /** One after the other. That one fails is told once; it is never a reason to stop taking events. */
  #send(...assignments: string[]): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) return Promise.resolve();
    this.#last = this.#last
      .then(() => run(assignments, { PATH: process.env.PATH, NOTIFY_SOCKET: socket }))
      .catch((err) => {
        if (!this.#hasFailed)
          this.#log.warn({ err }, 'systemd cannot be told how courtd is (systemd-notify)');
        this.#hasFailed = true;
      });
    return this.#last;
  }
}

/** The same, before there is a log: settings that cannot be. */
export async function tellFailure(sentence: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const { PATH, NOTIFY_SOCKET } = env;
  if (!NOTIFY_SOCKET) return;
  await run([`STATUS=${oneLine(sentence)}`], { PATH, NOTIFY_SOCKET }).catch(() => {});
}

/** A message of systemd's has an assignment a line. */
function oneLine(sentence: string): string {
  return sentence.replaceAll(/\s+/g, ' ').trim();
}

function run(assignments: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('systemd-notify', assignments, { env, timeout: NOTIFY_TIMEOUT_MS }, (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}
