import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, Backoff, decide } from '../../../src/vendor/camera/retryPolicy.ts';
import type { Check } from '../../../src/vendor/conformance/judge.ts';
import { Court, type Detection } from '../../../src/vendor/simulate/court.ts';
import { Random } from '../../../src/vendor/simulate/random.ts';
import { event } from '../../harness/events.ts';

type Event = ReturnType<typeof event>;

/** How often it repeats what was refused for good, before it gives in. */
const STUBBORN_TIMES = 2;
const BATCH = 4;
const PAUSE_MS = 150;
const SINGLES_PAUSE_MS = 20;
const CLOCK_OFF_MS = 60_000;

/** A camera that sends as the guide says, but for one thing: the line of the verdict that it is careless about. */
export class CarelessCamera {
  readonly #flaw: Check['name'] | undefined;
  readonly #port: number;
  readonly #token: string;
  readonly #agent: http.Agent;
  readonly #end = new AbortController();
  readonly #source: string;
  readonly #match = new Court(new Random(1), 'pickleball');
  #matchS = 0;
  #seen: Detection[] = [];
  #confirmed: Event[] = [];

  constructor(flaw: Check['name'] | undefined, port: number, token: string) {
    this.#flaw = flaw;
    this.#port = port;
    this.#token = token;
    this.#source = `careless-${flaw ?? 'of-nothing'}`;
    this.#agent = new http.Agent({ keepAlive: flaw !== 'keeps_connections', maxSockets: 1 });
  }

  /** Sends until it is ended. */
  async run(): Promise<void> {
    for (let i = 1; !this.#end.signal.aborted; i++) {
      // Every fifth request confirms what the one before it said.
      const batch = i % 5 === 0 ? this.#confirmed : this.#see();
      if (batch.length > 0) await this.#deliver(batch);
      await this.#pause(this.#flaw === 'batches' ? SINGLES_PAUSE_MS : PAUSE_MS);
    }
    this.#agent.destroy();
  }

  end(): void {
    this.#end.abort();
  }

  /** What a match goes on to show, as if it was now. */
  #see(): Event[] {
    const wanted = this.#flaw === 'batches' ? 1 : BATCH;
    while (this.#seen.length < wanted) {
      this.#seen.push(...this.#match.until(this.#matchS++).filter(({ revision }) => revision === 0));
    }
    return this.#seen
      .splice(0, wanted)
      .map(({ type, payload }) =>
        event({ event_id: randomUUID(), source: this.#source, eot: this.#now(), type, payload }),
      );
  }

  #now(): string {
    return new Date(Date.now() - (this.#flaw === 'true_eot' ? CLOCK_OFF_MS : 0)).toISOString();
  }

  async #deliver(first: readonly Event[]): Promise<void> {
    let batch = [...first];
    const backoff = new Backoff(Math.random);
    for (let stubborn = 0; batch.length > 0 && !this.#end.signal.aborted; ) {
      const decision = decide(await this.#post(batch), batch.length);
      if (decision.kind === 'stored') {
        const revision = this.#flaw === 'raises_revision' ? 0 : 1;
        // Each is confirmed once, after its 202.
        this.#confirmed = batch
          .filter((one) => one.confidence < 0.98)
          .map((one) => ({ ...one, revision, confidence: 0.99 }));
        return;
      }
      if (this.#flaw === 'loses_nothing') return;
      if (decision.kind === 'giveUp') return;
      if (decision.kind === 'split') {
        if (this.#flaw === 'splits_on_413') continue;
        await this.#deliver(batch.slice(batch.length >> 1));
        batch = batch.slice(0, batch.length >> 1);
      } else if (decision.kind === 'drop') {
        if (this.#flaw === 'gives_up_on_400' && stubborn++ < STUBBORN_TIMES) continue;
        batch = batch.filter((_, i) => !decision.named.has(i));
      } else {
        await this.#wait(decision.retryAfterS, backoff);
        batch = batch.map((one) => this.#again(one));
      }
    }
  }

  async #wait(retryAfterS: number | undefined, backoff: Backoff): Promise<void> {
    if (this.#flaw === 'backs_off' && retryAfterS === undefined) return;
    await this.#pause(backoff.wait(this.#flaw === 'waits_as_told' ? undefined : retryAfterS) * 1000);
  }

  #again(one: Event): Event {
    if (this.#flaw === 'same_event_id') return { ...one, event_id: randomUUID() };
    return this.#flaw === 'same_content' ? { ...one, eot: this.#now() } : one;
  }

  #post(batch: readonly Event[]): Promise<Answer> {
    const query = this.#flaw === 'token_not_in_url' ? `?access_token=${this.#token}` : '';
    const lost: Answer = { status: 0, retryAfter: '', body: '' };
    return new Promise((resolve) => {
      const req = http.request({
        host: '127.0.0.1',
        port: this.#port,
        path: `/v1/events${query}`,
        method: 'POST',
        agent: this.#agent,
        signal: this.#end.signal,
        headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json' },
      });
      req.on('error', () => resolve(lost)).on('close', () => resolve(lost));
      req.on('response', (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('error', () => resolve(lost));
        response.on('end', () =>
          resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'] ?? '', body }),
        );
      });
      req.end(JSON.stringify(batch));
    });
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#end.signal }).catch(() => {});
  }
}
