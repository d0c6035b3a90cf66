import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Logger } from 'pino';

/** Watchdog notifications in each of its periods: sd_watchdog_enabled(3) recommends at least two. */
const WATCHDOG_PINGS = 3;
/** How long the end waits for systemd-notify, which itself waits up to 5 s until its message has been read. */
const STOPPING_MS = 1_000;
const NOTIFY_TIMEOUT_MS = 10_000;

const SILENT_STORE = 'the store does not answer: if that lasts, systemd kills courtd and starts it again';

/** The health of a daemon that is ready. */
interface Health {
  /** One line, which `systemctl status` shows. */
  status(): string;
  /** Resolves once the store has answered; rejects if it cannot. */
  check(): Promise<void>;
}

/**
 * sd_notify(3): readiness, a status line, and the watchdog. Does nothing without systemd.
 *
 * The messages go through the program systemd-notify, because Node has no unix datagram socket: 8 ms for each, a few in a minute.
 * It needs NotifyAccess=all, since it may not send under the daemon's process id.
 */
export class SystemdNotifier {
  readonly #env: NodeJS.ProcessEnv;
  /** Milliseconds; 0 if there is no watchdog. */
  readonly #watchdogMs: number;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #isStoreSilent = false;

  /** Removes systemd's variables from `env`: no child process may notify systemd, or ping the watchdog. */
  constructor(log: Logger, env: NodeJS.ProcessEnv = process.env) {
    const { PATH, NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID = String(process.pid) } = env;
    for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
    this.#log = log;
    this.#env = { PATH, NOTIFY_SOCKET };
    this.#watchdogMs = WATCHDOG_PID === String(process.pid) ? Number(WATCHDOG_USEC ?? 0) / 1000 : 0;
  }

  /** The unit has no timeout for a start. */
  starting(): void {
    void this.#send('STATUS=starting');
  }

  /** Reports readiness; from now on pings the watchdog, with the status. */
  ready(health: Health): void {
    void this.#send('READY=1', `STATUS=${health.status()}`);
    if (!this.#env.NOTIFY_SOCKET || !(this.#watchdogMs > 0)) return;
    const everyMs = this.#watchdogMs / WATCHDOG_PINGS;
    this.#timer = setInterval(() => void this.#ping(health, everyMs), everyMs).unref();
  }

  /** Shows why the start failed while systemd waits to restart: it shows no log lines of a previous attempt. */
  failed(sentence: string): Promise<void> {
    return tellFailure(sentence, this.#env);
  }

  /** Stops the watchdog's pings: from now on systemd enforces TimeoutStopSec= instead. */
  async stopping(): Promise<void> {
    clearInterval(this.#timer);
    const sent = this.#send('STOPPING=1', 'STATUS=stopping: requests in progress are answered first');
    await Promise.race([sent, sleep(STOPPING_MS)]);
  }

  /** Pings the watchdog only while the store answers: a timer alone would prove that timers work. */
  async #ping(health: Health, withinMs: number): Promise<void> {
    const isLate = sleep(withinMs, true, { ref: false });
    try {
      if (await Promise.race([health.check(), isLate])) throw new Error('no answer');
      this.#isStoreSilent = false;
      await this.#send('WATCHDOG=1', `STATUS=${health.status()}`);
    } catch (err) {
      if (!this.#isStoreSilent) this.#log.error({ err }, SILENT_STORE);
      this.#isStoreSilent = true;
    }
  }

  /** Sends messages one after the other. A failure is logged once, and never stops the daemon. */
  #send(...assignments: string[]): Promise<void> {
    this.#last = this.#last
      .then(() => notify(assignments, this.#env))
      .catch((err) => {
        if (!this.#hasFailed) this.#log.warn({ err }, 'cannot notify systemd: systemd-notify failed');
        this.#hasFailed = true;
      });
    return this.#last;
  }
}

/** As `failed`, for invalid settings, before there is a log or a notifier. Never throws. */
export async function tellFailure(sentence: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  // In systemd's protocol, a line break ends the assignment.
  await notify([`STATUS=${sentence.replaceAll(/\s+/g, ' ').trim()}`], env).catch(() => {});
}

async function notify(assignments: readonly string[], from: NodeJS.ProcessEnv): Promise<void> {
  const { PATH, NOTIFY_SOCKET } = from;
  if (!NOTIFY_SOCKET) return;
  const env = { PATH, NOTIFY_SOCKET };
  await promisify(execFile)('systemd-notify', assignments, { env, timeout: NOTIFY_TIMEOUT_MS });
}
