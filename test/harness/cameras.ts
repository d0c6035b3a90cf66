import { setTimeout as sleep } from 'node:timers/promises';
import { FULL_RETRY_MS } from '../../src/base/limits.ts';
import type { Cleanup, Daemon } from './daemon.ts';
import { events } from './events.ts';
import { History, type Sent, toSent } from './history.ts';

const RESEND_MS = 20;
const LOOK_MS = 2;

/** What they send to. */
type Target = Pick<Daemon, 'token' | 'post'>;

interface Options {
  readonly cameras?: number;
  /** Events of a request. */
  readonly batch?: number;
  /** After each acknowledgement. */
  readonly pauseMs?: number;
  readonly history?: History;
  /** Makes requests; absent: batches of new events. */
  readonly traffic?: { next(): { sent: Sent; copies: number } };
  /** @returns the clock of the history; absent: 0. */
  readonly clock?: () => number;
  /** Requests that they make before they stop by themselves. */
  readonly most?: number;
}

/** Cameras that send without pause until they are stopped, each request until it has its 202, whatever happens to courtd meanwhile. */
export class Cameras {
  readonly history: History;
  /** The event_id of everything that was answered 202. */
  readonly acknowledged: string[] = [];
  /** How often each other answer came: its code, or "gone" if there was none. */
  readonly refused = new Map<string, number>();
  /** Resolves when each of them has stopped. */
  readonly done: Promise<unknown>;
  token: string;
  #daemon: Target;
  readonly #pauseMs: number;
  readonly #next: () => { sent: Sent; copies: number };
  readonly #clock: () => number;
  readonly #most: number;
  #isStopping = false;
  #isGivenUp = false;
  #waiting: { readonly count: number; readonly reached: () => void }[] = [];

  constructor(t: Cleanup, daemon: Target, options: Options = {}) {
    const { cameras = 8, batch = 20, pauseMs = 0, history = new History(), traffic } = options;
    this.#daemon = daemon;
    this.token = daemon.token;
    this.history = history;
    this.#pauseMs = pauseMs;
    this.#clock = options.clock ?? (() => 0);
    this.#most = options.most ?? Number.POSITIVE_INFINITY;
    const plain = () => ({
      sent: history.add(events(batch).map((event) => toSent({ ...event }))),
      copies: 1,
    });
    this.#next = traffic === undefined ? plain : () => traffic.next();
    this.done = Promise.all(Array.from({ length: cameras }, () => this.#sendOn()));
    t.teardown(() => {
      this.#isStopping = true;
      this.#isGivenUp = true;
    });
  }

  /** From now on they send to this daemon. */
  follow(daemon: Target): void {
    this.#daemon = daemon;
  }

  /** Resolves when this many more events have been acknowledged. */
  more(count: number): Promise<void> {
    return new Promise((reached) => {
      this.#waiting.push({ count: this.acknowledged.length + count, reached });
    });
  }

  /** Resolves when so many requests have been made. */
  async made(requests: number): Promise<void> {
    while (this.history.requests.length < requests) await sleep(LOOK_MS);
  }

  /** Ends them once what each of them has begun to send is acknowledged. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.done;
  }

  async #sendOn(): Promise<void> {
    while (!this.#isStopping && this.history.requests.length < this.#most) {
      const { sent, copies } = this.#next();
      await Promise.all(Array.from({ length: copies }, () => this.#deliver(sent)));
      for (const { count, reached } of this.#waiting) if (this.acknowledged.length >= count) reached();
      if (this.#pauseMs > 0) await sleep(this.#pauseMs);
    }
  }

  async #deliver(sent: Sent): Promise<void> {
    for (; !this.#isGivenUp; await sleep(RESEND_MS)) {
      const wasAnswered = sent.answeredAt !== undefined;
      if (sent.tries++ > 0) this.history.resends++;
      let code = 'gone';
      try {
        const authorization = { Authorization: `Bearer ${this.token}` };
        const answer = await this.#daemon.post(sent.body, authorization, (status) => {
          if (status === 202) this.#acknowledge(sent);
        });
        const body = (await answer.json()) as { code: string; accepted: number; duplicates: number };
        if (answer.status === 202) return this.#judge(sent, wasAnswered, body);
        if (answer.status !== 503) this.history.faults.push(`a valid request was answered ${answer.status}`);
        code = body.code;
      } catch {
        // No answer: the events may be stored or not.
      }
      this.refused.set(code, (this.refused.get(code) ?? 0) + 1);
    }
  }

  #acknowledge(sent: Sent): void {
    if (sent.answeredAt !== undefined) return;
    sent.answeredAt = this.#clock();
    this.acknowledged.push(...sent.events.map(({ id }) => id));
  }

  #judge(
    { events }: Sent,
    wasAnswered: boolean,
    { accepted, duplicates }: { accepted: number; duplicates: number },
  ): void {
    const { faults } = this.history;
    if (accepted + duplicates !== events.length)
      faults.push(`${events.length} events were answered ${accepted} accepted, ${duplicates} duplicates`);
    if (wasAnswered && accepted > 0) faults.push(`${accepted} acknowledged events were accepted once more`);
  }
}

/** @returns the event_ids that an export of the session has, sorted. */
export async function storedIds(daemon: Daemon, session = 'session-1'): Promise<string[]> {
  const lines = await daemon.exported(session);
  return lines.map((line) => JSON.parse(line).event_id).sort();
}

/** Fills the disk through the front door, to the last small request. */
export async function fillWithEvents(daemon: Daemon): Promise<void> {
  for (const size of [500, 20, 1]) {
    for (let refused = 0; refused < 3; ) {
      const { status } = await daemon.post(events(size, { note: 'x'.repeat(200) }));
      if (status === 202) refused = 0;
      else refused++;
      if (refused > 0) await sleep(FULL_RETRY_MS / 2);
    }
  }
}
