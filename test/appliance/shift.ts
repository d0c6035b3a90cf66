import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import type { CameraOrder } from './camera.ts';
import type { CameraName } from './event.ts';

const MAIN = path.join(import.meta.dirname, 'cameras-main.ts');

export interface ShiftOrder {
  readonly token: string;
  readonly cameras: readonly CameraOrder[];
}

/** What has come of a shift so far. */
export interface ShiftReport {
  /** When it was made, milliseconds since 1970-01-01T00:00:00Z. */
  readonly madeAt: number;
  /** Every request that was begun has its 202. */
  readonly isOver: boolean;
  /** Events of each camera that have a 202: those before this number. */
  readonly acknowledged: readonly (CameraName & { readonly acknowledged: number })[];
  /** Different ones: a resend is the same request. */
  readonly requests: number;
  /** From the first try to the 202. */
  readonly slowestMs: number;
  /** Requests that were not answered 202 at the first try, by what came instead. */
  readonly failures: Readonly<Record<string, number>>;
  readonly lies: readonly string[];
}

/** Cameras at work, in the network namespace of a box. */
export class Shift {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #report: ShiftReport | undefined;
  #errors = '';
  #onReport = () => {};

  /** @param leader a process that is in that network. */
  constructor(leader: number, order: ShiftOrder) {
    this.#child = spawn('nsenter', ['-t', String(leader), '-n', '--', process.execPath, MAIN], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    this.#child.on('message', (report: ShiftReport) => {
      this.#report = report;
      this.#onReport();
    });
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    void this.#ended.then(() => this.#onReport());
    this.#child.send(order);
  }

  /** @returns once so many requests have been answered since it began. */
  async requests(count: number): Promise<ShiftReport> {
    return this.#until(({ requests }) => requests >= count);
  }

  /** They end what they have begun. @returns what came of it, once all of that has its 202. */
  async stop(): Promise<ShiftReport> {
    this.#child.send('stop');
    const report = await this.#until(({ isOver }) => isOver);
    await this.#ended;
    return report;
  }

  /** They are cut off, for the box is gone: what they were sending may be stored or not. @returns what they knew last. */
  async abandon(): Promise<ShiftReport> {
    // A report from before may lack requests that were answered.
    const goneAt = Date.now();
    await this.#until(({ madeAt }) => madeAt > goneAt);
    this.kill();
    await this.#ended;
    if (this.#report === undefined) throw this.#failure();
    return this.#report;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #until(isEnough: (report: ShiftReport) => boolean): Promise<ShiftReport> {
    for (;;) {
      if (this.#report !== undefined && isEnough(this.#report)) return this.#report;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw this.#failure();
      await new Promise<void>((resolve) => {
        this.#onReport = resolve;
      });
    }
  }

  #failure(): Error {
    return new Error(`The cameras ended by themselves. ${this.#errors.trim()}`);
  }
}
