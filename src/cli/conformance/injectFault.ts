import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientDisconnected } from '../../http/request/bodyReader.ts';
import { bodyTooLarge } from '../../http/request/preconditions.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import type { Counts } from '../../store/write/appender.ts';
import type { Exchange } from './exchange.ts';
import type { Choice } from './faultPlan.ts';
import type { Recorder } from './recorder.ts';

/** Seconds of Retry-After: longer than the first wait of a camera that gets none. */
const BUSY_S = 4;
const RATE_LIMITED_S = 3;
const SLOW_MS = 3_000;
const ON_PURPOSE = 'courtd conformance does this on purpose';

/** A valid request that gets a fault. */
export interface Injection {
  readonly exchange: Exchange;
  readonly res: ServerResponse;
  readonly events: readonly CourtEvent[];
  readonly append: () => Promise<Counts>;
}

/**
 * Answers instead of the store, or after it.
 * @returns what is stored, where the request is answered 202.
 * @throws {Problem} the answer. @throws {ClientDisconnected} where the connection was ended instead.
 */
export async function injectFault(choice: Choice, request: Injection, recorder: Recorder): Promise<Counts> {
  const { exchange, res, append } = request;
  exchange.fault = choice.fault;
  exchange.named = choice.named;
  switch (choice.fault) {
    case 'dropped':
      await append();
      recorder.cut(exchange, res.socket);
      res.socket?.destroy();
      throw new ClientDisconnected();
    case 'reset':
      recorder.cut(exchange, res.socket);
      await breakOff(res);
      throw new ClientDisconnected();
    case 'slow': {
      const counts = await append();
      await sleep(SLOW_MS);
      return counts;
    }
    default:
      // Before it is written, so that a camera that waits as long as Retry-After says is never too early.
      exchange.answeredAt = performance.now();
      throw problemOf(choice, request);
  }
}

/** Half an answer, and a reset. Nothing is stored, but the camera cannot know. */
async function breakOff(res: ServerResponse): Promise<void> {
  const { socket } = res;
  const body = new Problem('storage_busy', `The box is busy: ${ON_PURPOSE}.`).body('-');
  res.writeHead(503, { 'Content-Type': 'application/problem+json', 'Content-Length': body.length });
  await new Promise<void>((resolve) => {
    socket?.once('close', () => resolve());
    res.write(body.slice(0, body.length >> 1), () => resolve());
  });
  socket?.resetAndDestroy();
}

function problemOf({ fault, named }: Choice, { exchange, events }: Injection): Problem {
  const { bodyBytes = 0 } = exchange;
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
      return bodyTooLarge(bodyBytes >> 1, bodyBytes);
    case 'invalid':
      return invalidEvent(named, exchange, events);
    default:
      return new Problem('storage_busy', `The box is busy: ${ON_PURPOSE}.`);
  }
}

/** As the real box names the invalid events of a batch, or the faults of a single event. */
function invalidEvent(
  named: readonly string[],
  { events: sent, isBatch }: Exchange,
  events: readonly CourtEvent[],
): Problem {
  const issues = [{ path: 'payload', message: `is refused: ${ON_PURPOSE}` }];
  if (isBatch !== true) {
    const sentence = `The event is invalid: payload ${issues[0]!.message}. Nothing was stored.`;
    return new Problem('invalid_event', sentence, { details: issues });
  }
  const invalid = sent.flatMap(({ key }, index) =>
    named.includes(key) ? [{ index, event_id: events[index]!.eventId, issues }] : [],
  );
  const sentence = `${invalid.length} of ${sent.length} events invalid, so nothing of the request was stored: ${ON_PURPOSE}.`;
  return new Problem('invalid_event', sentence, { invalid, invalid_total: invalid.length });
}
