import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { BoxClient } from '../harness/boxClient.ts';
import { event } from '../harness/events.ts';

/** Cameras around a box, in a process of their own in its network: this file is also what that process runs. */

const PORT = 4000;
/** Vendors wait for a second and longer; here a second without load would hide what a restart does to it. */
const AGAIN_MS = 100;
const REPORT_MS = 20;
/** Of all events, nineteen in twenty: what a venue's cameras send. */
const POSITIONS_OF = 20;
const SIZES = [1, 1, 2, 3, 5, 8, 13];
const FIRST_EOT_MS = Date.UTC(2026, 2, 14, 15);
const FRAME_MS = 20;

/** What one camera has to do. */
export interface CameraOrder {
  readonly session: string;
  /** `source` of its events. */
  readonly camera: string;
  /** Its first event; all before were acknowledged. */
  readonly from: number;
  /** Requests a second, if the box answers that fast. */
  readonly perSecond: number;
  /** An address of its own, as in a venue: the rate limit counts by it. */
  readonly address: string;
}

/** What cameras have seen so far. */
export interface Report {
  /** Every request that was begun has its 202. */
  readonly isOver: boolean;
  /** Events with a 202, by session and camera: those before this number. */
  readonly acknowledged: readonly (readonly [name: string, count: number])[];
  /** Different ones: a resend is the same request. */
  readonly requests: number;
  /** Requests that were not answered 202 at the first try, by what came instead. */
  readonly failures: Readonly<Record<string, number>>;
  /** Answers that contradict what was sent. */
  readonly lies: readonly string[];
}

/** @returns a camera's event, made from its name and a number alone. @param n from 0 on. */
export function eventOf(session: string, camera: string, n: number): WireEvent {
  return event({
    event_id: createHash('sha256').update(`${session}/${camera}/${n}`).digest('hex').slice(0, 24),
    session_id: session,
    court_id: `court-${camera.at(-1)}`,
    eot: new Date(FIRST_EOT_MS + n * FRAME_MS).toISOString(),
    type: n % POSITIONS_OF === 0 ? 'BALL_BOUNCE' : 'PLAYER_POSITION',
    confidence: (n % 100) / 100,
    source: camera,
    payload: { x_ft: n / 8, frame: n, note: n % 50 === 0 ? 'Zoë 🎾' : null },
  });
}

/** @returns the events in the request that begins with a camera's n-th: a resend after a crash is the same request. */
export function sizeAt(n: number): number {
  return SIZES[n % SIZES.length]!;
}

/** Cameras at work. */
export class Cameras {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #report: Report | undefined;
  #onReport = () => {};

  /** @param leader a process that is in the network of the box. */
  constructor(leader: number, token: string, orders: readonly CameraOrder[]) {
    const args = ['-t', String(leader), '-n', '--', process.execPath, import.meta.filename];
    this.#child = spawn('nsenter', args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#child.on('message', (report: Report) => {
      this.#report = report;
      this.#onReport();
    });
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    void this.#ended.then(() => this.#onReport());
    this.#child.send({ token, orders });
  }

  /** @returns once so many requests have been answered since it began. */
  requests(count: number): Promise<Report> {
    return this.#until(({ requests }) => requests >= count);
  }

  /** They end what they have begun. @returns what came of it, once all of that has its 202. */
  async stop(): Promise<Report> {
    this.#child.send('stop');
    const report = await this.#until(({ isOver }) => isOver);
    await this.#ended;
    return report;
  }

  /** They are cut off, because the box has ended: what they were sending may be stored or not. @returns what they know. */
  async abandon(): Promise<Report> {
    // A report from before may lack requests that were answered.
    const old = this.#report;
    const report = await this.#until((report) => report !== old);
    this.kill();
    await this.#ended;
    return report;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #until(isEnough: (report: Report) => boolean): Promise<Report> {
    while (this.#report === undefined || !isEnough(this.#report)) {
      const { exitCode, signalCode } = this.#child;
      if (exitCode !== null || signalCode !== null) throw new Error('The cameras ended by themselves.');
      await new Promise<void>((resolve) => {
        this.#onReport = resolve;
      });
    }
    return this.#report;
  }
}

const tally = { requests: 0, failures: {} as Record<string, number>, lies: [] as string[] };
let isStopped = false;

/** A camera as vendors build it: one request at a time, on a connection that it keeps, sent again until there is a 202. */
class Camera {
  readonly #order: CameraOrder;
  readonly #client: BoxClient;
  readonly #token: string;
  #acknowledged: number;

  constructor(order: CameraOrder, token: string) {
    this.#order = order;
    this.#acknowledged = order.from;
    this.#token = token;
    this.#client = new BoxClient(PORT, order.address);
  }

  get account(): readonly [name: string, count: number] {
    return [`${this.#order.session} ${this.#order.camera}`, this.#acknowledged];
  }

  /** @returns when it has been stopped, and its last request has been answered. */
  async run(): Promise<void> {
    while (!isStopped) {
      await sleep((Math.random() * 2_000) / this.#order.perSecond);
      await this.#deliver();
    }
    this.#client.hangUp();
  }

  async #deliver(): Promise<void> {
    const { session, camera } = this.#order;
    const first = this.#acknowledged;
    const size = sizeAt(first);
    const body = Array.from({ length: size }, (_, i) => eventOf(session, camera, first + i));
    tally.requests++;
    for (let isFirst = true; ; isFirst = false) {
      const failure = await this.#try(body, isFirst);
      if (failure === undefined) break;
      if (isFirst) tally.failures[failure] = (tally.failures[failure] ?? 0) + 1;
      await sleep(AGAIN_MS);
    }
    this.#acknowledged = first + size;
  }

  /** @returns what came in the place of a 202; undefined if that came. */
  async #try(body: readonly WireEvent[], isFirst: boolean): Promise<string | undefined> {
    try {
      const answer = await this.#client.postOnce(body, { Authorization: `Bearer ${this.#token}` });
      const text = await answer.text();
      if (answer.status !== 202) return `${answer.status}`;
      const { accepted, duplicates } = JSON.parse(text);
      // Nothing can have been stored before the first try, unless the camera before this one was cut off.
      const isNew = isFirst && this.#acknowledged > this.#order.from;
      if (accepted + duplicates !== body.length || (isNew && duplicates > 0))
        tally.lies.push(`${body.length} events were answered ${text}`);
      return undefined;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    }
  }
}

async function work(token: string, orders: readonly CameraOrder[]): Promise<void> {
  const cameras = orders.map((order) => new Camera(order, token));
  const report = (isOver: boolean): void => {
    const acknowledged = cameras.map(({ account }) => account);
    process.send?.({ isOver, acknowledged, ...tally } satisfies Report);
  };
  const timer = setInterval(report, REPORT_MS, false);
  process.once('message', () => {
    isStopped = true;
  });
  await Promise.all(cameras.map((camera) => camera.run()));
  clearInterval(timer);
  report(true);
  process.disconnect?.();
}

if (import.meta.main) {
  process.once('message', ({ token, orders }: { token: string; orders: CameraOrder[] }) => {
    void work(token, orders);
  });
  // The process that gave the orders is gone.
  process.once('disconnect', () => process.exit(1));
}
