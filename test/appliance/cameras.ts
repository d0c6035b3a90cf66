import { type ChildProcess, spawn } from 'node:child_process';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { BoxClient } from '../harness/boxClient.ts';
import { Cameras as SendingCameras } from '../harness/cameras.ts';
import { event } from '../harness/events.ts';
import { History, toSent } from '../harness/history.ts';
import { untilExit } from '../harness/untilExit.ts';

/** Cameras around a box, in a process of their own in its network: this file is also what that process runs. */

const PORT = 4000;
const REPORT_MS = 20;
/** A busy camera and one whose connection is idle between two requests fail differently at a restart. */
const GROUPS = [
  { cameras: 4, pauseMs: 5 },
  { cameras: 8, pauseMs: 250 },
];
/** Nineteen in twenty events are positions, as in a venue. */
const POSITIONS_OF = 20;
const SIZES = [1, 1, 2, 3, 5, 8, 13];
const FIRST_EOT_MS = Date.UTC(2026, 2, 14, 15);
const FRAME_MS = 20;

export interface Order {
  readonly token: string;
  readonly session: string;
  /** Its first event; no camera has made one with this number. */
  readonly from: number;
}

/** What cameras have seen so far. */
export interface Report {
  /** Every request that was begun has its 202. */
  readonly isOver: boolean;
  /** The event_ids with a 202, without those of earlier reports. */
  readonly acknowledged: readonly string[];
  /** The number of the next event. */
  readonly next: number;
  /** Different ones: a resend is the same request. */
  readonly requests: number;
  /** Tries that were not answered 202, by what came instead. */
  readonly failures: Readonly<Record<string, number>>;
  /** Answers that contradict what was sent. */
  readonly faults: readonly string[];
}

/** @returns an event, made from its session and a number alone. @param n from 0 on. */
export function eventOf(session: string, n: number): WireEvent {
  return event({
    event_id: `${session}-${n}`,
    session_id: session,
    court_id: `court-${n % 8}`,
    eot: new Date(FIRST_EOT_MS + n * FRAME_MS).toISOString(),
    type: n % POSITIONS_OF === 0 ? 'BALL_BOUNCE' : 'PLAYER_POSITION',
    confidence: (n % 100) / 100,
    source: `camera-${n % 12}`,
    payload: { x_ft: n / 8, frame: n, note: n % 50 === 0 ? 'Zoë 🎾' : null },
  });
}

/** Cameras at work. */
export class Cameras {
  readonly session: string;
  readonly acknowledged: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #report: Report | undefined;
  #onReport = () => {};

  /** @param leader a process that is in the network of the box. */
  constructor(leader: number, order: Order) {
    this.session = order.session;
    const args = ['-t', String(leader), '-n', '--', process.execPath, import.meta.filename];
    this.#child = spawn('nsenter', args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#child.on('message', (report: Report) => {
      this.#report = report;
      this.acknowledged.push(...report.acknowledged);
      this.#onReport();
    });
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    void this.#ended.then(() => this.#onReport());
    this.#child.send(order);
  }

  /** @returns once so many requests have been made since it began. */
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

async function work({ token, session, from }: Order): Promise<void> {
  const client = new BoxClient(PORT);
  const box = { token, post: client.postOnce.bind(client) };
  const history = new History();
  let next = from;
  const traffic = {
    next: () => {
      const size = SIZES[history.requests.length % SIZES.length]!;
      const events = Array.from({ length: size }, () => toSent({ ...eventOf(session, next++) }));
      return { sent: history.add(events), copies: 1 };
    },
  };
  const groups = GROUPS.map((group) => new SendingCameras(untilExit, box, { ...group, history, traffic }));
  const known = groups.map(() => 0);
  const report = (isOver: boolean): void => {
    const acknowledged = groups.flatMap(({ acknowledged }, i) => {
      const fresh = acknowledged.slice(known[i]);
      known[i] = acknowledged.length;
      return fresh;
    });
    const failures: Record<string, number> = {};
    for (const { refused } of groups)
      for (const [what, count] of refused) failures[what] = (failures[what] ?? 0) + count;
    const { faults, requests } = history;
    const told = { isOver, acknowledged, next, requests: requests.length, failures, faults };
    process.send?.(told satisfies Report);
  };
  const timer = setInterval(report, REPORT_MS, false);
  process.once('message', () => {
    for (const group of groups) void group.stop();
  });
  await Promise.all(groups.map(({ done }) => done));
  clearInterval(timer);
  report(true);
  process.disconnect?.();
}

if (import.meta.main) {
  process.once('message', (order: Order) => void work(order));
  // The process that gave the orders has ended.
  process.once('disconnect', () => process.exit(1));
}
