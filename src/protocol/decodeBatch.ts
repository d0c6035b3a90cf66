import { isUtf8 } from 'node:buffer';
import { BATCH_EVENTS, BODY_VALUES, EVENT_DEPTH_LEVELS } from '../base/limits.ts';
import type { CourtEvent } from './courtEvent.ts';
import { eotToNs } from './eot.ts';
import { type Fault, Problem, type ProblemCode } from './errors.ts';
import type { WireEvent } from './eventSchema.ts';
import { JsonError } from './jsonLexer.ts';
import { JsonReader } from './jsonReader.ts';
import { describeOdd } from './payload.ts';
import { readEvent, readSoFar, type SentEvent } from './sentEvent.ts';
import {
  cameraOf,
  type EventRules,
  explainBatch,
  explainEvent,
  type InvalidSent,
  isValidEvent,
} from './validate.ts';

/**
 * Parses and validates a request's body in a single pass: all of its events or none (spec 4.1, batch rule).
 *
 * The strings of the events are slices of the body's text and keep the whole text in memory: copy one that outlives the request.
 *
 * @param body decompressed; one JSON object, or an array of at most BATCH_EVENTS objects, in UTF-8 without a byte order mark.
 * @param listedFaults how many faults of an event that was sent alone are listed; LISTED_FAULTS unless it is given.
 * @returns the events in the order of the request; none for an empty array.
 * @throws {Problem} 400 invalid_json, too_deep, too_many_events or invalid_event; 413 body_too_large.
 */
export function decodeBatch(body: Buffer, rules: EventRules = {}, listedFaults?: number): CourtEvent[] {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new Problem('invalid_json', 'The body starts with a byte order mark: send it without one.');
  }
  return new BatchReader(body, rules, listedFaults).read();
}

class BatchReader {
  readonly #body: Buffer;
  readonly #isUtf8: boolean;
  readonly #json: JsonReader;
  readonly #rules: EventRules;
  readonly #listedFaults: number | undefined;
  readonly #events: CourtEvent[] = [];
  readonly #invalid: InvalidSent[] = [];
  #isArray = false;
  /** The position of the event being read, from 0; -1 before the first. */
  #index = -1;
  /** The first event that could be read. */
  #first: unknown;
  #code: ProblemCode = 'invalid_event';
  /** About the first event of the array that is not JSON. */
  #brokenSentence: string | undefined;

  constructor(body: Buffer, rules: EventRules, listedFaults: number | undefined) {
    this.#body = body;
    this.#isUtf8 = isUtf8(body);
    this.#json = new JsonReader(body);
    this.#rules = rules;
    this.#listedFaults = listedFaults;
  }

  read(): CourtEvent[] {
    let count: number | undefined;
    try {
      this.#readBody();
      count = this.#index + 1;
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      // The end of a broken event is not always certain.
      if (this.#code === 'invalid_event' || error.reason !== 'syntax') throw this.#problemOf(error);
      this.#addFault('invalid_json', this.#syntaxFault(error.at));
    }
    if (count !== undefined && count > BATCH_EVENTS) {
      const sentence = `The array holds ${count} events; at most ${BATCH_EVENTS} are allowed in one request.`;
      throw new Problem('too_many_events', sentence, {}, {}, { ...cameraOf(this.#first), events: count });
    }
    if (!this.#isUtf8 && this.#brokenSentence === undefined)
      throw this.#problemOf(new JsonError('syntax', 0));
    const [first] = this.#invalid;
    if (first === undefined) return this.#events;
    throw this.#isArray
      ? explainBatch(this.#invalid, count, this.#first, this.#rules, this.#code, this.#brokenSentence)
      : explainEvent(first.event, this.#rules, this.#listedFaults);
  }

  #readBody(): void {
    const json = this.#json;
    json.skipSpaces();
    this.#isArray = json.isAtArray;
    const isEvent = json.isAtObject;
    if (isEvent) this.#readEvent();
    else if (this.#isArray)
      for (let more = json.aroundEvents().enterArray(); more; more = json.nextElement()) this.#readEvent();
    else json.skip();
    json.skipSpaces();
    if (!json.isAtEnd) throw new JsonError('syntax', json.at);
    if (!this.#isArray && !isEvent) {
      throw new Problem('invalid_json', 'The body must be one event (a JSON object) or an array of events.');
    }
  }

  #readEvent(): void {
    this.#index++;
    if (this.#index >= BATCH_EVENTS) return this.#json.skip();
    const event = this.#isArray ? this.#readElement() : readEvent(this.#json);
    if (event === undefined) return;
    const { sent, tooLarge, payload, extra } = event;
    this.#first ??= sent;
    const eotNs = isValidEvent(sent, this.#rules) && tooLarge.size === 0 ? eotToNs(sent.eot) : undefined;
    if (eotNs === undefined) this.#invalid.push({ index: this.#index, event });
    else this.#events.push(toEvent(sent as WireEvent, eotNs, payload, extra));
  }

  /** @returns undefined if it is not JSON, or nested too deep: the other events are still checked. */
  #readElement(): SentEvent | undefined {
    const json = this.#json;
    const from = json.at;
    let event: SentEvent;
    let fault: Fault | undefined;
    try {
      event = readEvent(json);
    } catch (error) {
      if (!(error instanceof JsonError) || error.reason === 'values') throw error;
      event = readSoFar();
      fault = error.reason === 'depth' ? TOO_DEEP : this.#syntaxFault(error.at);
      json.skipBroken(from);
    }
    if (!this.#isUtf8 && !isUtf8(this.#body.subarray(from, json.at))) fault = NOT_UTF8;
    if (fault === undefined) return event;
    this.#addFault(fault === TOO_DEEP ? 'too_deep' : 'invalid_json', fault);
    this.#invalid.push({ index: this.#index, event, fault });
    return undefined;
  }

  #addFault(code: ProblemCode, { message }: Fault): void {
    if (code === 'invalid_json') this.#brokenSentence ??= `The body ${message}`;
    if (this.#code !== 'invalid_json') this.#code = code;
  }

  #syntaxFault(at: number): Fault {
    return { path: '', message: `is not JSON${this.#describeSyntaxErrorAt(at)}` };
  }

  #problemOf({ reason, at }: JsonError): Problem {
    const camera = cameraOf(this.#first);
    if (reason === 'depth') return new Problem('too_deep', `The event ${TOO_DEEP.message}.`, {}, {}, camera);
    if (reason === 'values') {
      const sentence = `The body holds more than ${BODY_VALUES} JSON values: send fewer or smaller events in one request. Nothing was stored.`;
      return new Problem('body_too_large', sentence, { limit_values: BODY_VALUES }, {}, camera);
    }
    const { message } = this.#isUtf8 ? this.#syntaxFault(at) : NOT_UTF8;
    return new Problem('invalid_json', `The body ${message}`, {}, {}, camera);
  }

  /** @returns the end of a sentence. It quotes nothing of the body but the known words of INVALID_NUMBERS. */
  #describeSyntaxErrorAt(at: number): string {
    const json = this.#json;
    const isAfterValue = json.isAtTop && this.#index >= 0;
    json.at = at;
    if (json.isAtEnd) return ': it ends too early.';
    if (isAfterValue && (json.isAtObject || json.isAtArray)) {
      return `: a second value follows the first at byte ${at}. Send one array of events, [{...}, {...}].`;
    }
    const word = INVALID_NUMBERS.find((word) => json.isAt(word));
    if (word !== undefined) {
      return `: ${word} at byte ${at}. JSON has no such number: omit the member.`;
    }
    return `: unexpected text at byte ${at}.`;
  }
}

const NOT_UTF8: Fault = { path: '', message: 'is not valid UTF-8.' };
const TOO_DEEP: Fault = { path: '', message: `is nested deeper than ${EVENT_DEPTH_LEVELS} levels` };

/** What some libraries write for numbers that JSON cannot express. */
const INVALID_NUMBERS = ['NaN', 'Infinity', '-Infinity'];

function toEvent(sent: WireEvent, eotNs: bigint, payload: string, extra: string | null): CourtEvent {
  return {
    eventId: sent.event_id,
    sessionId: sent.session_id,
    venueId: sent.venue_id,
    courtId: sent.court_id,
    eot: sent.eot,
    eotNs,
    type: sent.type,
    // Adding 0 turns -0 into 0, as SQLite does: the checksum has its sign.
    confidence: sent.confidence + 0,
    source: sent.source,
    schemaVersion: sent.schema_version,
    revision: (sent.revision ?? 0) + 0,
    payload,
    extra,
    odd: describeOdd(sent.payload),
  };
}
