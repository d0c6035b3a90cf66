import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, BoxClient } from '../harness/boxClient.ts';
import { type CameraName, eventOf, sizeAt } from './event.ts';

/** Where cameras send to: in the network of the box, so the loopback. */
export const PORT = 4000;
/** Vendors wait for a second and longer; here a second without load would hide what a restart does to it. */
const AGAIN_MS = 100;

/** What one camera has to do. */
export interface CameraOrder extends CameraName {
  /** Its first event; all before were acknowledged. */
  readonly from: number;
  /** Requests a second, if the box answers that fast. */
  readonly perSecond: number;
  /** An address of its own, as in a venue: the rate limit counts by it. */
  readonly address: string;
}

/** What the cameras of a shift have seen. */
export class Tally {
  requests = 0;
  slowestMs = 0;
  /** Requests that were not answered 202 at the first try, by what came instead. */
  readonly failures: Record<string, number> = {};
  /** Answers that contradict what was sent. */
  readonly lies: string[] = [];

  fail(what: string): void {
    this.failures[what] = (this.failures[what] ?? 0) + 1;
  }
}

/** A camera as vendors build it: one request at a time, on a connection that it keeps, sent again until there is a 202. */
export class Camera {
  readonly order: CameraOrder;
  /** Events with a 202: those before this number. */
  acknowledged: number;
  readonly #client: BoxClient;
  readonly #token: string;
  readonly #tally: Tally;
  #isOver = false;

  constructor(order: CameraOrder, token: string, tally: Tally) {
    this.order = order;
    this.acknowledged = order.from;
    this.#token = token;
    this.#client = new BoxClient(PORT, order.address);
    this.#tally = tally;
  }

  /** It ends what it has begun. */
  stop(): void {
    this.#isOver = true;
  }

  /** @returns when it has been stopped, and its last request has been answered. */
  async run(): Promise<void> {
    const everyMs = 1000 / this.order.perSecond;
    let due = performance.now() + Math.random() * everyMs;
    while (!this.#isOver) {
      const wait = due - performance.now();
      if (wait > 0) await sleep(wait);
      due = Math.max(due, performance.now() - everyMs) + everyMs;
      await this.#deliver();
    }
    this.#client.close();
  }

  async #deliver(): Promise<void> {
    const from = this.acknowledged;
    const events = Array.from({ length: sizeAt(from) }, (_, i) => eventOf(this.order, from + i));
    const body = JSON.stringify(events);
    const startedAt = performance.now();
    this.#tally.requests++;
    for (let tries = 1; ; tries++) {
      const answer = await this.#client
        .post(this.#token, body)
        .catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
      if (typeof answer !== 'string' && answer.status === 202) {
        this.#judge(answer, events.length, tries === 1 && from > this.order.from);
        break;
      }
      if (tries === 1) this.#tally.fail(typeof answer === 'string' ? answer : `${answer.status}`);
      await sleep(AGAIN_MS);
    }
    this.#tally.slowestMs = Math.max(this.#tally.slowestMs, performance.now() - startedAt);
    this.acknowledged = from + events.length;
  }

  /** @param isNew nothing of it can have been stored before. */
  #judge({ accepted, duplicates }: Answer, events: number, isNew: boolean): void {
    if (accepted + duplicates !== events || (isNew && duplicates > 0)) {
      this.#tally.lies.push(`${events} events were answered ${accepted} accepted, ${duplicates} duplicates`);
    }
  }
}
