import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BATCH_EVENTS, BODY_BYTES } from '../base/limits.ts';
import { decodeBatch } from '../protocol/decodeBatch.ts';
import { Problem, type ProblemCode, type ProblemMembers } from '../protocol/errors.ts';
import type { CourtEvent } from '../protocol/event.ts';
import type { EventRules } from '../protocol/validate.ts';
import type { Counts } from '../store/write/appender.ts';
import { answerJson, type ControlRoute } from './controlServer.ts';

export const IMPORT_PATH = '/v1/import';
/** Bytes of one request: a single event may be as large as a camera's whole body, and have a line end. */
export const IMPORT_BYTES = BODY_BYTES + 1;
/** Bytes of all requests that are being read or wait for their turn. */
const IN_FLIGHT_BYTES = 3 * IMPORT_BYTES;
/** Milliseconds for a body to arrive: it comes from this machine. */
const BODY_MS = 10_000;
/** Milliseconds of checking lines after which whatever else has arrived is served. */
const SLICE_MS = 2;

export type ImportAnswer =
  | { readonly counts: Pick<Counts, 'accepted' | 'duplicates' | 'conflicts'> }
  /** Nothing of the batch is stored. */
  | { readonly fault: ImportFault }
  | { readonly refused: { readonly code: ProblemCode; readonly error: string } };

/** The first line of a batch that is not a valid event. */
export interface ImportFault {
  /** The line's position in the batch, from 0. */
  readonly index: number;
  readonly message: string;
  readonly members: ProblemMembers;
}

export interface ImportContext {
  readonly rules: EventRules;
  /** As for a camera's request. */
  append(events: readonly CourtEvent[]): Promise<Counts>;
}

/**
 * `POST /v1/import`: a batch of at most BATCH_EVENTS events, one a line, stored whole or not at all, as if a camera had sent it.
 * Batches take turns, and each is followed by a pause as long as it took: cameras get at least half of the time. A body is read
 * before its turn, so that an unfinished one delays nobody.
 */
export function importRoute(context: ImportContext): ControlRoute {
  let inFlight = 0;
  let lastTurn: Promise<unknown> = Promise.resolve();

  const inTurn = async (body: Buffer): Promise<ImportAnswer> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = lastTurn;
    lastTurn = promise;
    await before;
    const startedAt = performance.now();
    try {
      return await store(body, context);
    } finally {
      setTimeout(resolve, performance.now() - startedAt);
    }
  };

  return {
    method: 'POST',
    path: IMPORT_PATH,
    answer: async (req, res) => {
      const bytes = Number(req.headers['content-length'] ?? Number.NaN);
      if (!(bytes <= IMPORT_BYTES))
        return answerJson(res, { error: `At most ${IMPORT_BYTES} bytes, declared beforehand.` }, 413);
      if (inFlight + bytes > IN_FLIGHT_BYTES)
        return answerJson(res, { refused: { code: 'overloaded', error: 'Too many imports at once.' } });
      inFlight += bytes;
      try {
        const body = await readWithin(req, BODY_MS);
        if (body?.length === bytes) answerJson(res, await inTurn(body));
        else req.destroy();
      } finally {
        inFlight -= bytes;
      }
    },
  };
}

/** @returns undefined where the body did not arrive in time, or its sender is gone. */
async function readWithin(req: IncomingMessage, timeoutMs: number): Promise<Buffer | undefined> {
  const timer = setTimeout(() => req.destroy(), timeoutMs);
  try {
    return await buffer(req);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

async function store(body: Buffer, { rules, append }: ImportContext): Promise<ImportAnswer> {
  const decoded = await decode(body, rules);
  if ('fault' in decoded) return decoded;
  try {
    const { accepted, duplicates, conflicts } = await append(decoded.events);
    return { counts: { accepted, duplicates, conflicts } };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { refused: { code: error.code, error: error.message } };
  }
}

/** Each line is treated as the body of a request with one event. */
async function decode(
  body: Buffer,
  rules: EventRules,
): Promise<{ readonly events: CourtEvent[] } | { readonly fault: ImportFault }> {
  const events: CourtEvent[] = [];
  let sliceFrom = performance.now();
  for (let [from, index] = [0, 0]; from < body.length; index++) {
    const end = body.indexOf(LINE_FEED, from);
    const to = end < 0 ? body.length : end;
    try {
      if (index >= BATCH_EVENTS) throw new Problem('too_many_events', `More than ${BATCH_EVENTS} lines.`);
      events.push(...decodeBatch(body.subarray(from, to), rules));
      // A line may be an array.
      if (events.length > BATCH_EVENTS)
        throw new Problem('too_many_events', `More than ${BATCH_EVENTS} events.`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { fault: { index, message: error.message, members: error.members } };
    }
    from = to + 1;
    if (performance.now() - sliceFrom < SLICE_MS) continue;
    await nextTurn();
    sliceFrom = performance.now();
  }
  return { events };
}

const LINE_FEED = 0x0a;
