import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { span } from '../../base/units.ts';
import { INVALID_TOKEN } from '../../http/request/bearerAuth.ts';
import { bodyTooLarge } from '../../http/request/preconditions.ts';
import { acceptedResponse, problemResponse } from '../../http/response.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';
import type { Counts } from '../../store/write/appender.ts';
import { type Answer, fieldOf, inPlaceOf, statusOf, write } from './answers.ts';
import type { ConnectionRecord, Exchange, SentEvent } from './exchange.ts';
import { type Choice, FaultPlan } from './faultPlan.ts';
import type { ReadRequest } from './recorder.ts';

/** Seconds of Retry-After: longer than the first wait of a camera that gets none. */
const BUSY_S = 4;
const RATE_LIMITED_S = 3;
const UNAUTHORIZED_S = 4;
const SLOW_MS = 3_000;
/** So much of an answer is missing where it is broken off in its body. */
const MISSING_BYTES = 20;
const ON_PURPOSE = 'courtd conformance does this on purpose';

/** The camera is to be switched off and on again, once each kind of fault has come. */
interface Restart {
  /** For so long every event is refused. */
  readonly ms: number;
  /** Asks for it, and says when it is over. */
  readonly tell: (sentence: string) => void;
}

/** Passes answers on to cameras, and gives faults to some whose events the daemon has stored. */
export class FaultInjector {
  readonly #plan = new FaultPlan();
  /** Keys of what is stored as cameras know it: the daemon has also stored what they were refused. */
  readonly #stored = new Set<string>();
  #restart: Restart | undefined;
  #restartEndsAt = 0;

  constructor(restart?: Restart) {
    this.#restart = restart;
  }

  /** @returns when a request has its answer. */
  async answer(
    camera: Socket,
    record: ConnectionRecord,
    request: ReadRequest,
    answer: Answer,
  ): Promise<void> {
    const { exchange, body, isLast } = request;
    const { events } = exchange;
    if (answer.status === 202) Object.assign(exchange, this.#faultFor(events));
    const { fault } = exchange;
    if (fault === 'slow') await sleep(SLOW_MS);
    if (camera.destroyed) return;
    const isServed = fault === undefined || fault === 'slow' || fault === 'dropped';
    const refused = () => problemResponse(refusalOf(exchange, body!), `request-${exchange.number}`);
    const bytes = isServed ? this.#served(answer, events) : inPlaceOf(answer, refused());
    // Before it is written, so that a camera that waits as long as Retry-After says is never too early.
    exchange.answeredAt = performance.now();
    if (fault === 'dropped') return void camera.destroy();
    if (fault === 'reset') {
      await write(camera, bytes.subarray(0, -MISSING_BYTES));
      return void camera.resetAndDestroy();
    }
    const head = bytes.toString('latin1');
    exchange.status = statusOf(head);
    const told = fieldOf(head, 'Retry-After');
    if (told !== undefined) exchange.toldS = Number(told);
    if (fieldOf(head, 'Connection') === 'close') record.endedBy ??= isLast ? 'camera' : 'box';
    if (exchange.status === 202) this.#plan.stored(events);
    await write(camera, bytes);
    if (fault === 'unauthorized') camera.destroySoon();
  }

  #faultFor(events: readonly SentEvent[]): Choice | undefined {
    if (this.#plan.isFirstRoundOver && events.length > 0) this.#askForRestart();
    const isOff = performance.now() < this.#restartEndsAt;
    return this.#plan.next(events, isOff && events.length > 0 ? 'restart' : undefined);
  }

  #askForRestart(): void {
    if (this.#restart === undefined) return;
    const { ms, tell } = this.#restart;
    this.#restart = undefined;
    this.#restartEndsAt = performance.now() + ms;
    tell(
      `courtd: switch the camera off now, and on again within ${span(ms / 1000)}: until then its events are refused.`,
    );
    const end =
      'courtd: events are accepted again. Let the camera send for another minute, and end with Ctrl-C.';
    setTimeout(() => tell(end), ms).unref();
  }

  /** @returns the daemon's answer; a 202 counts as new what a camera was refused before. */
  #served(answer: Answer, events: readonly SentEvent[]): Buffer {
    if (answer.status !== 202) return answer.bytes;
    const known = this.#stored.size;
    for (const { key } of events) this.#stored.add(key);
    const accepted = this.#stored.size - known;
    const told: Counts = JSON.parse(answer.body);
    if (told.accepted === accepted || told.accepted + told.duplicates !== events.length) return answer.bytes;
    const conflicts = Number(fieldOf(answer.head, 'Courtd-Conflicts') ?? 0);
    const counts = { accepted, duplicates: events.length - accepted, conflicts };
    return inPlaceOf(answer, acceptedResponse(counts));
  }
}

/** @param body JSON text. @returns what a request is refused with that the daemon has answered with 202. */
function refusalOf({ fault, events, named }: Exchange, body: Buffer): Problem {
  switch (fault) {
    case 'busy_told':
    case 'restart':
      return retryLater('storage_busy', `The box is busy: ${ON_PURPOSE}.`, BUSY_S);
    case 'rate_limited':
      return retryLater('rate_limited', `Too many requests: ${ON_PURPOSE}.`, RATE_LIMITED_S);
    case 'unauthorized':
      return unauthorized(`The token is refused for a while: ${ON_PURPOSE}.`);
    case 'too_large':
      return bodyTooLarge(body.length >> 1, body.length);
    case 'invalid': {
      const isNamed = events.map(({ key }) => named.includes(key));
      return invalidEvent(isNamed, JSON.parse(body.toString()));
    }
    default:
      return new Problem('storage_busy', `The box is busy: ${ON_PURPOSE}.`);
  }
}

/** As the daemon answers a token that is no longer valid, but for the shorter wait. */
function unauthorized(sentence: string): Problem {
  const challenge = { 'WWW-Authenticate': INVALID_TOKEN, Connection: 'close' };
  return new Problem('unauthorized', sentence, {}, { ...challenge, 'Retry-After': `${UNAUTHORIZED_S}` });
}

/** As the daemon names the invalid events of a batch, or the faults of a single event. */
function invalidEvent(isNamed: readonly boolean[], sent: unknown): Problem {
  const issues = [{ path: 'payload', message: `is refused: ${ON_PURPOSE}` }];
  if (!Array.isArray(sent)) {
    const sentence = `The event is invalid: payload ${issues[0]!.message}. Nothing was stored.`;
    return new Problem('invalid_event', sentence, { details: issues });
  }
  const invalid = sent.flatMap(({ event_id }, index) =>
    isNamed[index] === true ? [{ index, event_id, issues }] : [],
  );
  const sentence = `${invalid.length} of ${sent.length} events invalid, so nothing of the request was stored: ${ON_PURPOSE}.`;
  return new Problem('invalid_event', sentence, { invalid, invalid_total: invalid.length });
}
