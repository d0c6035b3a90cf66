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
import {
  type BodyEncoding,
  bodyTooLarge,
  checkPreconditions,
  type PreconditionContext,
} from '../../http/preconditions.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';
import { digestOf, type Exchange, type Recording, SentEvents } from './exchange.ts';
import { FaultPlan } from './faultPlan.ts';

/** Events and requests that are recorded: some twenty minutes of a busy court. Later requests are served without faults. */
const RECORDED_MAX = 200_000;
/** Seconds of Retry-After: longer than the first wait of a camera that gets none. */
const TOLD_S = { unauthorized: 3, rate_limited: 2, busy_told: 3 } as const;
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
    const isFull = this.#recorded > RECORDED_MAX;
    return {
      exchanges: this.#exchanges,
      endedAt: isFull ? this.#exchanges.at(-1)!.at : performance.now(),
    };
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const exchange: Exchange = {
      ...{ number: this.#exchanges.length + 1, at: performance.now(), bodyMs: 0, digest: '' },
      ...{ events: [], faults: [], named: [] },
    };
    try {
      // Only what has the right token is recorded.
      const encoding = checkPreconditions(req, CAMERA, this.#conditions, () => {
        if (this.#recorded <= RECORDED_MAX) this.#exchanges.push(exchange);
      });
      const body = await bodyOf(req, encoding);
      Object.assign(exchange, { bodyMs: Date.now(), digest: digestOf(body) });
      exchange.events = decodeBatch(body).map((event) => this.#events.read(event));
      this.#recorded += 1 + exchange.events.length;
      const names = exchange.events.map(({ first }) => first);
      if (this.#recorded <= RECORDED_MAX) Object.assign(exchange, this.#plan.next(names));
      this.#answer(res, exchange, body);
    } catch (error) {
      // Anything else is a connection that ended in the middle of its request.
      if (!(error instanceof Problem)) return void req.destroy();
      const { details, invalid } = error.members;
      exchange.faults = details ?? invalid?.flatMap(({ issues }) => issues) ?? [];
      this.#onRejected(error);
      reject(res, exchange, error);
    }
  }

  #answer(res: ServerResponse, exchange: Exchange, body: Buffer): void {
    const { fault, events } = exchange;
    const refusal = refusalOf(exchange, body);
    if (refusal !== undefined) return reject(res, exchange, refusal);
    const before = this.#stored.size;
    for (const { key } of events) this.#stored.add(key);
    const accepted = this.#stored.size - before;
    if (fault === 'dropped') {
      exchange.answeredAt = performance.now();
      return void res.destroy();
    }
    this.#plan.stored(events.map(({ first }) => first));
    const counts = { accepted, duplicates: events.length - accepted, conflicts: 0 };
    const send = () => write(res, exchange, acceptedResponse(counts));
    if (fault === 'slow') setTimeout(send, SLOW_MS).unref();
    else send();
  }
}

/** @returns the body, decompressed. */
async function bodyOf(req: IncomingMessage, encoding: BodyEncoding): Promise<Buffer> {
  const body = await buffer(req);
  if (body.length > BODY_BYTES) throw bodyTooLarge(BODY_BYTES);
  return encoding === 'gzip' ? gunzip(body, BODY_BYTES) : body;
}

/** @param body that is valid. @returns what the request is rejected with on purpose; undefined if it is accepted. */
function refusalOf({ fault, events, named }: Exchange, body: Buffer): Problem | undefined {
  const say = (what: string) => `${what}: courtd conformance does this on purpose.`;
  switch (fault) {
    case 'busy':
      return new Problem('storage_busy', say('The box is busy'));
    case 'busy_told':
      return retryLater('storage_busy', say('The box is busy'), TOLD_S.busy_told);
    case 'rate_limited':
      return retryLater('rate_limited', say('There are too many requests'), TOLD_S.rate_limited);
    case 'unauthorized':
      return new Problem('unauthorized', say('The token is rejected for a while'), {}, UNAUTHORIZED);
    case 'too_large':
      return bodyTooLarge(body.length >> 1);
    case 'unnamed':
      return new Problem('invalid_json', say('The body is not JSON, and no event can be named'));
    case 'invalid': {
      const sent = JSON.parse(body.toString());
      const issues = [{ path: 'payload', message: say('is rejected') }];
      // As the daemon names the invalid events of a batch, or the faults of a single event.
      const invalid = events.flatMap(({ first }, index) =>
        named.includes(first) ? [{ index, event_id: sent[index]?.event_id, issues }] : [],
      );
      const members = Array.isArray(sent) ? { invalid, invalid_total: invalid.length } : { details: issues };
      return new Problem('invalid_event', say('An event is invalid'), members);
    }
    default:
      return undefined;
  }
}

const UNAUTHORIZED = {
  'WWW-Authenticate': INVALID_TOKEN,
  'Retry-After': `${TOLD_S.unauthorized}`,
  Connection: 'close',
};

function reject(res: ServerResponse, exchange: Exchange, problem: Problem): void {
  write(res, exchange, problemResponse(problem, `request-${exchange.number}`));
}

function write(res: ServerResponse, exchange: Exchange, response: ReturnType<typeof problemResponse>): void {
  const { status, headers, body } = response;
  const told = headers['Retry-After'];
  if (told !== undefined) exchange.toldS = Number(told);
  // Before it is written, so that a camera that waits as long as Retry-After says is never too early.
  Object.assign(exchange, { status, answeredAt: performance.now() });
  res.writeHead(status, headers).end(body);
}
