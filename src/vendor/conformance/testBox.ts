import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { BODY_BYTES, TOKEN_BYTES } from '../../base/limits.ts';
import { http } from '../../base/nodeHttp.ts';
import { INVALID_TOKEN } from '../../http/bearerToken.ts';
import { gunzip } from '../../http/body.ts';
import { acceptedResponse, problemResponse } from '../../http/connection.ts';
import { bodyTooLarge, checkPreconditions, type PreconditionContext } from '../../http/preconditions.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';
import { digestOf, type Exchange, type Recording, SentEvents } from './exchange.ts';
import { FaultPlan, type InjectedFault } from './faultPlan.ts';

/** Events and requests that are recorded: some twenty minutes of a busy court. Later requests are served without faults. */
const RECORDED_MAX = 200_000;
const SLOW_MS = 3_000;
const CAMERA = { client: 'camera', isLocal: false } as const;

/** A box for the cameras that are tested: it validates as the daemon does, stores nothing, injects faults and records. */
export class TestBox {
  readonly token = randomBytes(TOKEN_BYTES).toString('base64url');
  readonly #conditions: PreconditionContext = {
    tokens: { accepts: (token) => token === this.token, whyInvalid: () => 'unknown token' },
    bodyLimitBytes: BODY_BYTES,
  };
  readonly #exchanges: Exchange[] = [];
  readonly #events = new SentEvents();
  readonly #plan = new FaultPlan();
  /** Keys of the events that a box would have stored. */
  readonly #stored = new Set<string>();
  readonly #server = http.createServer((req, res) => void this.#serve(req, res));
  readonly #onRejected: (problem: Problem) => void;
  #recorded = 0;

  /** @param onRejected is called with each request that is rejected, and not on purpose. */
  constructor(onRejected: (problem: Problem) => void) {
    this.#onRejected = onRejected;
  }

  /** @returns the port. @throws Node's error of listen(2), such as EADDRINUSE. */
  async listen(host: string, port: number): Promise<number> {
    await once(this.#server.listen(port, host), 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** What has been recorded until now. */
  get recording(): Recording {
    const exchanges = this.#exchanges;
    return { exchanges, endedAt: this.#isFull ? exchanges.at(-1)!.at : performance.now() };
  }

  get #isFull(): boolean {
    return this.#recorded > RECORDED_MAX;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const exchange: Exchange = {
      ...{ at: performance.now(), bodyMs: 0, digest: '' },
      ...{ events: [], faults: [], named: [] },
    };
    try {
      // Only what has the right token is recorded.
      const encoding = checkPreconditions(req, CAMERA, this.#conditions, () => {
        if (!this.#isFull) this.#exchanges.push(exchange);
      });
      const sent = await buffer(req);
      if (sent.length > BODY_BYTES) throw bodyTooLarge(BODY_BYTES);
      const body = encoding === 'gzip' ? await gunzip(sent, BODY_BYTES) : sent;
      Object.assign(exchange, { bodyMs: Date.now(), digest: digestOf(body) });
      exchange.events = decodeBatch(body).map((event) => this.#events.read(event));
      this.#recorded += 1 + exchange.events.length;
      const names = exchange.events.map(({ first }) => first);
      if (!this.#isFull) Object.assign(exchange, this.#plan.next(names));
      const rejection = exchange.fault && REJECTIONS[exchange.fault]?.(exchange, body);
      if (rejection !== undefined) reject(res, exchange, rejection);
      else this.#accept(res, exchange, names);
    } catch (error) {
      // Anything else is a connection that ended in the middle of its request.
      if (!(error instanceof Problem)) return void req.destroy();
      const { details, invalid } = error.members;
      exchange.faults = details ?? invalid?.flatMap(({ issues }) => issues) ?? [];
      this.#onRejected(error);
      reject(res, exchange, error);
    }
  }

  #accept(res: ServerResponse, exchange: Exchange, names: readonly string[]): void {
    const before = this.#stored.size;
    for (const { key } of exchange.events) this.#stored.add(key);
    const accepted = this.#stored.size - before;
    if (exchange.fault === 'dropped') {
      exchange.answeredAt = performance.now();
      return void res.destroy();
    }
    this.#plan.stored(names);
    const counts = { accepted, duplicates: names.length - accepted, conflicts: 0 };
    const send = () => answer(res, exchange, acceptedResponse(counts));
    if (exchange.fault === 'slow') setTimeout(send, SLOW_MS).unref();
    else send();
  }
}

const onPurpose = (what: string) => `${what}: courtd conformance does this on purpose.`;

/**
 * What a request is rejected with on purpose; the other faults accept it. The body is a valid one. Seconds of Retry-After are more than
 * the first wait of a camera that gets none.
 */
const REJECTIONS: Partial<Record<InjectedFault, (exchange: Exchange, body: Buffer) => Problem>> = {
  busy: () => new Problem('storage_busy', onPurpose('The box is busy')),
  busy_told: () => retryLater('storage_busy', onPurpose('The box is busy'), 3),
  rate_limited: () => retryLater('rate_limited', onPurpose('There are too many requests'), 2),
  unauthorized: () =>
    new Problem('unauthorized', onPurpose('The token is rejected for a while'), {}, UNAUTHORIZED),
  too_large: (_, body) => bodyTooLarge(body.length >> 1),
  unnamed: () => new Problem('invalid_json', onPurpose('The body is not JSON, and no event can be named')),
  invalid: ({ events, named }, body) => {
    const sent = JSON.parse(body.toString());
    const issues = [{ path: 'payload', message: onPurpose('is rejected') }];
    // As the daemon names the invalid events of a batch, or the faults of a single event.
    const invalid = events.flatMap(({ first }, index) =>
      named.includes(first) ? [{ index, event_id: sent[index]?.event_id, issues }] : [],
    );
    const members = Array.isArray(sent) ? { invalid, invalid_total: invalid.length } : { details: issues };
    return new Problem('invalid_event', onPurpose('An event is invalid'), members);
  },
};

const UNAUTHORIZED = { 'WWW-Authenticate': INVALID_TOKEN, 'Retry-After': '3', Connection: 'close' };

function reject(res: ServerResponse, exchange: Exchange, problem: Problem): void {
  answer(res, exchange, problemResponse(problem, 'conformance'));
}

function answer(res: ServerResponse, exchange: Exchange, response: ReturnType<typeof problemResponse>): void {
  const { status, headers, body } = response;
  const told = headers['Retry-After'];
  if (told !== undefined) exchange.toldS = Number(told);
  // Before it is written, so that a camera that waits as long as Retry-After says is never too early.
  Object.assign(exchange, { status, answeredAt: performance.now() });
  res.writeHead(status, headers).end(body);
}
