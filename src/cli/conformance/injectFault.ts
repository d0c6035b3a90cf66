import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientDisconnected } from '../../http/request/bodyReader.ts';
import { bodyTooLarge } from '../../http/request/preconditions.ts';
import { Problem, retryLater } from '../../protocol/errors.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import type { Counts } from '../../store/write/appender.ts';
import type { Exchange } from './exchange.ts';
import type { Recorder } from './recorder.ts';
import type { Choice } from './faultPlan.ts';

/** Seconds of Retry-After: longer than a camera waits at first that is not told. */
const BUSY_S = 4;
const RATE_LIMITED_S = 3;
/** How late a slow answer is. */
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
 * Answers in the place of the store, or beside it.
 * @returns what is stored, where the request is answered 202.
 * @throws {Problem} what it is answered with. @throws {ClientDisconnected} where its connection was ended instead.
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
      // Before it is written: a camera that waits as long as it is told can never be too early.
      exchange.answeredAt = performance.now();
      throw problemOf(choice, request);
  }
}

/** Half of an answer, and a reset. Nothing is stored, and nothing says so. */
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
      return retryLater('storage_busy', `The box is busy, and says for how long: ${ON_PURPOSE}.`, BUSY_S);
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

/** In the form in which the real box names the events of a batch, or the faults of a single one. */
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
