import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { BODY_BYTES, TOKEN_BYTES } from '../../base/limits.ts';
import { http } from '../../base/nodeHttp.ts';
import { INVALID_TOKEN } from '../../http/bearerToken.ts';
import { gunzip } from '../../http/body.ts';
import { acceptedResponse, problemResponse } from '../../http/connection.ts';
import { bodyTooLarge, checkPreconditions, type PreconditionContext } from '../../http/preconditions.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';
import { digestOf, type Exchange, type Recording, sentEvent } from './exchange.ts';
import { FaultPlan, type InjectedFault } from './faultPlan.ts';

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
  readonly #plan = new FaultPlan();
  /** Keys of the events that a box would have stored. */
  readonly #stored = new Set<string>();
  readonly #server = http.createServer((req, res) => void this.#serve(req, res));
  readonly #onRejected: (problem: Problem) => void;

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
    return { exchanges: this.#exchanges, endedAt: performance.now() };
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const exchange: Exchange = { at: performance.now(), events: [], faults: [], named: [] };
    try {
      // Only what has the right token is recorded.
      const encoding = checkPreconditions(req, CAMERA, this.#conditions, () => {
        this.#exchanges.push(exchange);
      });
      const sent = await buffer(req);
      if (sent.length > BODY_BYTES) throw bodyTooLarge(BODY_BYTES);
      const body = encoding === 'gzip' ? await gunzip(sent, BODY_BYTES) : sent;
      Object.assign(exchange, { bodyMs: Date.now(), digest: digestOf(body) });
      exchange.events = decodeBatch(body).map(sentEvent);
      const keys = exchange.events.map(({ key }) => key);
      Object.assign(exchange, this.#plan.next(keys));
      const rejection = exchange.fault && REJECTIONS[exchange.fault]?.(exchange, body);
      if (rejection !== undefined) throw rejection;
      const before = this.#stored.size;
      for (const key of keys) this.#stored.add(key);
      const accepted = this.#stored.size - before;
      if (exchange.fault === 'dropped') {
        exchange.answeredAt = performance.now();
        return void res.destroy();
      }
      this.#plan.stored(keys);
      if (exchange.fault === 'slow') await sleep(SLOW_MS, undefined, { ref: false });
      const counts = { accepted, duplicates: keys.length - accepted, conflicts: 0 };
      answer(res, exchange, acceptedResponse(counts));
    } catch (error) {
      // Anything else is a connection that ended in the middle of its request.
      if (!(error instanceof Problem)) return void req.destroy();
      if (exchange.fault === undefined) {
        const { details, invalid } = error.members;
        exchange.faults = details ?? invalid?.flatMap(({ issues }) => issues) ?? [];
        this.#onRejected(error);
      }
      answer(res, exchange, problemResponse(error, 'conformance'));
    }
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
    const invalid = events.flatMap(({ key }, index) =>
      named.includes(key) ? [{ index, event_id: sent[index]?.event_id, issues }] : [],
    );
    const members = Array.isArray(sent) ? { invalid, invalid_total: invalid.length } : { details: issues };
    return new Problem('invalid_event', onPurpose('An event is invalid'), members);
  },
};

const UNAUTHORIZED = { 'WWW-Authenticate': INVALID_TOKEN, 'Retry-After': '3', Connection: 'close' };

function answer(res: ServerResponse, exchange: Exchange, response: ReturnType<typeof problemResponse>): void {
  const { status, headers, body } = response;
  const told = headers['Retry-After'];
  if (told !== undefined) exchange.toldS = Number(told);
  // Before it is written, so that a camera that waits as long as Retry-After says is never too early.
  Object.assign(exchange, { status, answeredAt: performance.now() });
  res.writeHead(status, headers).end(body);
}
