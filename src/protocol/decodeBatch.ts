import { isUtf8 } from 'node:buffer';
import { BATCH_EVENTS, BODY_VALUES, EVENT_DEPTH_LEVELS } from '../base/limits.ts';
import { eotToNs } from './eot.ts';
import { type Fault, type LogFields, Problem } from './errors.ts';
import type { CourtEvent } from './event.ts';
import type { WireEvent } from './eventSchema.ts';
import { JsonError } from './jsonLexer.ts';
import { JsonReader } from './jsonReader.ts';
import { describeOdd } from './payload.ts';
import { readEvent, type SentEvent } from './sentEvent.ts';
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
  if (!isUtf8(body)) throw new Problem('invalid_json', 'The body is not valid UTF-8.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new Problem('invalid_json', 'The body starts with a byte order mark: send it without one.');
  }
  return new BatchReader(body, rules, listedFaults).read();
}

class BatchReader {
  readonly #json: JsonReader;
  readonly #rules: EventRules;
  readonly #listedFaults: number | undefined;
  readonly #events: CourtEvent[] = [];
  readonly #invalid: InvalidSent[] = [];
  #isArray = false;
  /** The position of the event being read, from 0; -1 before the first. */
  #index = -1;
  /** Whether an element of the array is being read, so that a fault belongs to it. */
  #isInElement = false;
  #isTooDeep = false;

  constructor(body: Buffer, rules: EventRules, listedFaults: number | undefined) {
    this.#json = new JsonReader(body);
    this.#rules = rules;
    this.#listedFaults = listedFaults;
  }

  read(): CourtEvent[] {
    try {
      this.#readBody();
    } catch (error) {
      throw error instanceof JsonError ? this.#problemOf(error) : error;
    }
    const count = this.#index + 1;
    if (count > BATCH_EVENTS) {
      const sentence = `The array holds ${count} events; at most ${BATCH_EVENTS} are allowed in one request.`;
      throw new Problem('too_many_events', sentence, {}, {}, { ...this.#camera(), events: count });
    }
    const [first] = this.#invalid;
    if (first === undefined) return this.#events;
    throw this.#isArray
      ? explainBatch(this.#invalid, count, this.#rules, this.#isTooDeep ? 'too_deep' : 'invalid_event')
      : explainEvent(first.event, this.#rules, this.#listedFaults);
  }

  #readBody(): void {
    const json = this.#json;
    json.skipSpaces();
    if (json.isAtEnd)
      throw new Problem('invalid_json', 'The body is empty: send one event, or an array of events.');
    this.#isArray = json.isAtArray;
    const isEvent = json.isAtObject;
    if (this.#isArray) for (let more = json.enterBatch(); more; more = json.nextElement()) this.#readEvent();
    else if (isEvent) this.#readEvent();
    else json.skip();
    json.skipSpaces();
    if (!json.isAtEnd) throw new JsonError('syntax', json.at);
    if (!this.#isArray && !isEvent) {
      throw new Problem('invalid_json', 'The body must be one event (a JSON object) or an array of events.');
    }
  }

  #readEvent(): void {
    this.#index++;
    if (this.#index >= BATCH_EVENTS) {
      this.#json.skip();
      return;
    }
    this.#isInElement = this.#isArray;
    const event = this.#isArray ? this.#readElement() : readEvent(this.#json);
    this.#isInElement = false;
    if (event === undefined) return;
    const { sent, tooLarge, payload, extra } = event;
    const eotNs = isValidEvent(sent, this.#rules) && tooLarge.size === 0 ? eotToNs(sent.eot) : undefined;
    if (eotNs === undefined) this.#invalid.push({ index: this.#index, event });
    else this.#events.push(toEvent(sent as WireEvent, eotNs, payload, extra));
  }

  /** @returns undefined if it is nested too deep: the other events are still checked. */
  #readElement(): SentEvent | undefined {
    const from = this.#json.at;
    try {
      return readEvent(this.#json);
    } catch (error) {
      if (!(error instanceof JsonError) || error.reason !== 'depth') throw error;
      this.#json.skipDeep(from, 1);
      this.#isTooDeep = true;
      this.#invalid.push({ index: this.#index, event: UNREADABLE, fault: TOO_DEEP });
      return undefined;
    }
  }

  /** Source and court, for the operator: those of the first event that could be read. */
  #camera(): LogFields {
    const [valid] = this.#events;
    const [invalid] = this.#invalid;
    if (invalid !== undefined && (valid === undefined || invalid.index === 0))
      return cameraOf(invalid.event.sent);
    return valid === undefined ? {} : { source: valid.source, court_id: valid.courtId };
  }

  #problemOf({ reason, at }: JsonError): Problem {
    const camera = this.#camera();
    if (reason === 'syntax') {
      const message = `is not JSON${this.#describeSyntaxErrorAt(at)}`;
      const sentence = `The body ${message}`;
      if (!this.#isInElement) return new Problem('invalid_json', sentence, {}, {}, camera);
      // A client that does not learn which event is wrong would drop all events.
      const broken = { index: this.#index, event: UNREADABLE, fault: { path: '', message } };
      const all = [...this.#invalid, broken];
      return explainBatch(all, this.#index + 1, this.#rules, 'invalid_json', sentence);
    }
    if (reason === 'values') return this.#tooManyValues(camera);
    return new Problem('too_deep', `The event ${TOO_DEEP.message}.`, {}, {}, camera);
  }

  #tooManyValues(camera: LogFields): Problem {
    const values = `more than ${BODY_VALUES} JSON values (numbers, strings, literals, arrays and objects)`;
    const sentence =
      this.#index > 0
        ? `The body holds ${values}: send fewer events in one request.`
        : `One event holds ${values}: make its payload smaller, or split it into several events.`;
    const members = { limit_values: BODY_VALUES };
    return new Problem('body_too_large', `${sentence} Nothing was stored.`, members, {}, camera);
  }

  /** @returns the end of a sentence. Of the body, it quotes nothing but the known words of INVALID_NUMBERS. */
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

/** Of an event that cannot be read, nothing is known. */
const UNREADABLE: SentEvent = { sent: undefined, payload: '{}', extra: null, tooLarge: new Set() };
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
