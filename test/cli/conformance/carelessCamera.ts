import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BoxAnswer, type Decision, decide } from '../../../src/vendor/camera/retryPolicy.ts';
import { type Detection, SimulatedCourt } from '../../../src/vendor/simulate/court.ts';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { event } from '../../harness/events.ts';

export type SentEvent = ReturnType<typeof event>;

/** Where a camera does otherwise than the guide says. */
export interface Habits {
  /** What it makes of an event that it detects, that it corrects, and that it sends again after an answer. */
  readonly detects?: (one: SentEvent) => SentEvent;
  readonly corrects?: (one: SentEvent) => SentEvent;
  readonly again?: (one: SentEvent, answer: BoxAnswer) => SentEvent;
  /** @returns undefined for what the guide says. @param tries how often it has sent these events. */
  readonly decides?: (answer: BoxAnswer, tries: number) => Decision | undefined;
  /** @param toldS Retry-After. @param untoldS what the guide says without one. @returns seconds. */
  readonly waits?: (toldS: number | undefined, untoldS: number, answer: BoxAnswer) => number;
  /** After this status it never sends again. */
  readonly endsAt?: number;
  readonly forgetsHalf?: true;
  readonly sendsSingles?: true;
  readonly endsConnections?: true;
  readonly pipelines?: true;
  readonly hasTokenInUrl?: true;
  readonly forgetsWhenOff?: true;
}

const BATCH = 4;
const PAUSE_MS = 150;
const SINGLES_PAUSE_MS = 20;
const OFF_MS = 2_000;
/** Every so many requests, one confirms what the one before it said, and a camera that pipelines does so. */
const SELDOM = 5;
const LOST: BoxAnswer = { status: 0, retryAfter: '', body: '' };

/** A camera that sends as the guide says, but for its habits. */
export class CarelessCamera {
  readonly #source: string;
  readonly #habits: Habits;
  readonly #port: number;
  readonly #token: string;
  readonly #match = new SimulatedCourt(new Random(1), 'pickleball');
  #matchS = 0;
  #seen: Detection[] = [];
  #confirmed: SentEvent[] = [];
  /** What is not settled, on a storage that survives a restart. */
  #unsent: readonly SentEvent[] = [];
  #requests = 0;
  #life = new AbortController();
  #agent = new http.Agent();
  isEnded = false;

  constructor(source: string, habits: Habits, port: number, token: string) {
    this.#source = source;
    this.#habits = habits;
    this.#port = port;
    this.#token = token;
  }

  /** Sends until it is ended. */
  async run(): Promise<void> {
    while (!this.isEnded) {
      this.#agent = new http.Agent({ keepAlive: this.#habits.endsConnections !== true, maxSockets: 1 });
      for (let i = 1; !this.#life.signal.aborted; i++) await this.#send(i);
      this.#agent.destroy();
      if (this.#habits.forgetsWhenOff) this.#unsent = [];
      if (!this.isEnded) await sleep(OFF_MS);
      if (!this.isEnded) this.#life = new AbortController();
    }
  }

  /** Switches it off and on again. */
  restart(): void {
    this.#life.abort();
  }

  end(): void {
    this.isEnded = true;
    this.#life.abort();
  }

  async #send(i: number): Promise<void> {
    if (this.#unsent.length === 0) this.#unsent = i % SELDOM === 0 ? this.#confirmed : this.#see();
    await this.#deliver(this.#unsent);
    if (this.#life.signal.aborted) return;
    this.#unsent = [];
    await this.#pause(this.#habits.sendsSingles ? SINGLES_PAUSE_MS : PAUSE_MS);
  }

  /** What a match goes on to show, as if it was now. */
  #see(): SentEvent[] {
    const wanted = this.#habits.sendsSingles ? 1 : BATCH;
    while (this.#seen.length < wanted) {
      this.#seen.push(...this.#match.until(this.#matchS++).filter(({ revision }) => revision === 0));
    }
    const [source, eot] = [this.#source, new Date().toISOString()];
    return this.#seen.splice(0, wanted).map(({ type, payload }) => {
      const one = event({ event_id: randomUUID(), source, eot, type, payload });
      return this.#habits.detects?.(one) ?? one;
    });
  }

  async #deliver(first: readonly SentEvent[]): Promise<void> {
    let batch = [...first];
    const backoff = new Backoff(Math.random);
    for (let tries = 1; batch.length > 0 && !this.#life.signal.aborted; tries++) {
      const answer = await this.#post(batch);
      if (answer.status === this.#habits.endsAt) return this.end();
      const decision = this.#habits.decides?.(answer, tries) ?? decide(answer, batch.length);
      if (decision.kind === 'giveUp') return;
      if (decision.kind === 'stored') return this.#confirm(batch);
      if (decision.kind === 'split') {
        const half = batch.length >> 1;
        if (!this.#habits.forgetsHalf) await this.#deliver(batch.slice(half));
        batch = batch.slice(0, half);
      } else if (decision.kind === 'drop') {
        batch = batch.filter((_, i) => !decision.named.has(i));
      } else {
        const untoldS = backoff.wait(undefined);
        const toldS = decision.retryAfterS;
        const waitS = this.#habits.waits?.(toldS, untoldS, answer) ?? Math.max(1, toldS ?? untoldS);
        await this.#pause(waitS * 1000);
        batch = batch.map((one) => this.#habits.again?.(one, answer) ?? one);
      }
    }
  }

  /** Each is confirmed once, after its 202. */
  #confirm(batch: readonly SentEvent[]): void {
    const corrects =
      this.#habits.corrects ?? ((one: SentEvent) => ({ ...one, revision: (one.revision ?? 0) + 1 }));
    const open = batch.filter(({ confidence }) => confidence < 0.98);
    this.#confirmed = open.map((one) => corrects({ ...one, confidence: 0.99 }));
  }

  async #post(batch: readonly SentEvent[]): Promise<BoxAnswer> {
    if (this.#habits.pipelines && ++this.#requests % SELDOM === 0) return this.#pipeline(batch);
    const query = this.#habits.hasTokenInUrl ? `?access_token=${this.#token}` : '';
    const req = http.request({
      host: '127.0.0.1',
      port: this.#port,
      path: `/v1/events${query}`,
      method: 'POST',
      agent: this.#agent,
      signal: this.#life.signal,
      headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json' },
    });
    try {
      const [response]: http.IncomingMessage[] = await once(req.end(JSON.stringify(batch)), 'response');
      const { statusCode, headers } = response!;
      return { status: statusCode!, retryAfter: headers['retry-after'] ?? '', body: await text(response!) };
    } catch {
      return LOST;
    }
  }

  /** A request, and another one behind it that is not answered. */
  async #pipeline(batch: readonly SentEvent[]): Promise<BoxAnswer> {
    const requests = [batch, []].map((events) => {
      const body = JSON.stringify(events);
      const fields = `Authorization: Bearer ${this.#token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
      return `POST /v1/events HTTP/1.1\r\nHost: box\r\n${fields}\r\n\r\n${body}`;
    });
    const socket = net.connect({ host: '127.0.0.1', port: this.#port, signal: this.#life.signal });
    try {
      const [head = '', body = ''] = (await text(socket.end(requests.join('')))).split('\r\n\r\n');
      const retryAfter = /^Retry-After: (\d+)/im.exec(head)?.[1] ?? '';
      return { status: Number(head.split(' ')[1] ?? 0), retryAfter, body };
    } catch {
      return LOST;
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#life.signal }).catch(() => {});
  }
}
