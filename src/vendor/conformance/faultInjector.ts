import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { bodyTooLarge } from '../../http/request/preconditions.ts';
import { acceptedResponse, problemResponse } from '../../http/response.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';
import type { Counts } from '../../store/write/appender.ts';
import { type Answer, fieldOf, inPlaceOf, statusOf, write } from './answers.ts';
import type { ConnectionRecord, Exchange } from './exchange.ts';
import { FaultPlan } from './faultPlan.ts';
import type { ReadRequest } from './recorder.ts';

/** Seconds of Retry-After: longer than the first wait of a camera that gets none. */
const BUSY_S = 4;
const RATE_LIMITED_S = 3;
const SLOW_MS = 3_000;
/** So much of an answer is missing where it is broken off in its body. */
const MISSING_BYTES = 20;
const ON_PURPOSE = 'courtd conformance does this on purpose';

/** Passes answers on to cameras, and gives faults to some whose events the daemon has stored. */
export class FaultInjector {
  readonly #plan = new FaultPlan();
  /** Keys of what is stored as cameras know it: the daemon has also stored what they were refused. */
  readonly #stored = new Set<string>();

  /** @returns when a request has its answer. */
  async answer(
    camera: Socket,
    record: ConnectionRecord,
    request: ReadRequest,
    answer: Answer,
  ): Promise<void> {
    const { exchange, body, isLast } = request;
    const keys = exchange.events.map(({ key }) => key);
    if (answer.status === 202) Object.assign(exchange, this.#plan.next(keys));
    const { fault } = exchange;
    if (fault === 'slow') await sleep(SLOW_MS);
    if (camera.destroyed) return;
    const isServed = fault === undefined || fault === 'slow' || fault === 'dropped';
    const refused = () => problemResponse(refusalOf(exchange, body!), `request-${exchange.number}`);
    const bytes = isServed ? this.#served(answer, keys) : inPlaceOf(answer, refused());
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
    if (exchange.status === 202) this.#plan.stored(keys);
    await write(camera, bytes);
  }

  /** @returns the daemon's answer; a 202 counts as new what a camera was refused before. */
  #served(answer: Answer, keys: readonly string[]): Buffer {
    if (answer.status !== 202) return answer.bytes;
    const known = this.#stored.size;
    for (const key of keys) this.#stored.add(key);
    const accepted = this.#stored.size - known;
    const told: Counts = JSON.parse(answer.body);
    if (told.accepted === accepted || told.accepted + told.duplicates !== keys.length) return answer.bytes;
    const conflicts = Number(fieldOf(answer.head, 'Courtd-Conflicts') ?? 0);
    const counts = { accepted, duplicates: keys.length - accepted, conflicts };
    return inPlaceOf(answer, acceptedResponse(counts));
  }
}

/** @param body JSON text. @returns what a request is refused with that the daemon has answered with 202. */
function refusalOf({ fault, events, named }: Exchange, body: Buffer): Problem {
  switch (fault) {
    case 'busy_told':
      return retryLater(
        'storage_busy',
        `The box is busy for the time in Retry-After: ${ON_PURPOSE}.`,
        BUSY_S,
      );
    case 'rate_limited':
      return retryLater('rate_limited', `Too many requests: ${ON_PURPOSE}.`, RATE_LIMITED_S);
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
