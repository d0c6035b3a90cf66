import { isUtf8 } from 'node:buffer';
import { BATCH_EVENTS, BODY_VALUES, EVENT_DEPTH_LEVELS } from '../base/limits.ts';
import type { CourtEvent } from './courtEvent.ts';
import { eotToNs } from './eot.ts';
import { Problem } from './errors.ts';
import type { WireEvent } from './eventSchema.ts';
import { JsonError, JsonReader } from './jsonReader.ts';
import { describeOdd } from './payload.ts';
import { readElement } from './sentEvent.ts';
import {
  type Broken,
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
  return new BatchReader(body, rules).read(listedFaults);
}

class BatchReader {
  readonly #body: Buffer;
  readonly #json: JsonReader;
  readonly #rules: EventRules;
  readonly #events: CourtEvent[] = [];
  readonly #invalid: InvalidSent[] = [];
  #count = 0;
  /** The first event that could be read. */
  #first: unknown;

  constructor(body: Buffer, rules: EventRules) {
    this.#body = body;
    this.#json = new JsonReader(body);
    this.#rules = rules;
  }

  read(listedFaults: number | undefined): CourtEvent[] {
    const json = this.#json;
    const invalid = this.#invalid;
    json.skipSpaces();
    const { isAtArray: isArray, isAtObject: isEvent } = json;
    const outside = this.#readBody();
    const broken = isArray ? outside : (invalid[0]?.broken ?? outside);
    // Behind a broken event of an array it is not certain where the next one begins.
    if (broken !== undefined && !(isArray && broken !== TOO_DEEP && invalid.some(({ broken }) => broken))) {
      const sentence = broken === TOO_DEEP ? `The event ${broken.message}.` : `The body ${broken.message}`;
      throw new Problem(broken.code, sentence, {}, {}, cameraOf(this.#first));
    }
    if (!isArray && !isEvent)
      throw new Problem('invalid_json', 'The body must be one event (a JSON object) or an array of events.');
    const count = broken === undefined ? this.#count : undefined;
    if (count !== undefined && count > BATCH_EVENTS) {
      const sentence = `The array holds ${count} events; at most ${BATCH_EVENTS} are allowed in one request.`;
      throw new Problem('too_many_events', sentence, {}, {}, { ...cameraOf(this.#first), events: count });
    }
    if (invalid.length === 0) return this.#events;
    throw isArray
      ? explainBatch(invalid, count, this.#first, this.#rules, broken)
      : explainEvent(invalid[0]!.event, this.#rules, listedFaults);
  }

  /** @returns what is broken outside of its events. */
  #readBody(): Broken | undefined {
    const json = this.#json;
    try {
      if (json.isAtArray) json.aroundEvents().array(() => this.#readEvent());
      else if (json.isAtObject) this.#readEvent();
      else json.skip();
      json.skipSpaces();
      if (json.isAtEnd) return undefined;
      if (!json.isAtObject && !json.isAtArray) throw new JsonError('syntax', json.at);
      const where = `a second value follows the first at byte ${json.at}.`;
      return notJson(`${where} Send one array of events, [{...}, {...}].`);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      if (error.reason === 'depth') return TOO_DEEP;
      if (error.reason === 'syntax') return json.isUtf8 ? this.#brokenAt(error.at) : NOT_UTF8;
      const sentence = `The body holds more than ${BODY_VALUES} JSON values: send fewer or smaller events in one request. Nothing was stored.`;
      throw new Problem('body_too_large', sentence, { limit_values: BODY_VALUES }, {}, cameraOf(this.#first));
    }
  }

  #readEvent(): void {
    const json = this.#json;
    const index = this.#count++;
    if (index >= BATCH_EVENTS) return json.skip();
    const from = json.at;
    const { event, error } = readElement(json);
    if (error?.at === from && (json.isAt(',', from) || json.isAt(']', from))) throw error; // A comma too many.
    const { sent, tooLarge, payload, extra } = event;
    let broken = json.isUtf8 || isUtf8(this.#body.subarray(from, json.at)) ? undefined : NOT_UTF8;
    if (error !== undefined) broken ??= error.reason === 'depth' ? TOO_DEEP : this.#brokenAt(error.at);
    if (broken === undefined) this.#first ??= sent;
    const isValid = broken === undefined && isValidEvent(sent, this.#rules) && tooLarge.size === 0;
    const eotNs = isValid ? eotToNs(sent.eot) : undefined;
    if (eotNs === undefined) this.#invalid.push({ index, event, broken });
    else this.#events.push(toEvent(sent as WireEvent, eotNs, payload, extra));
  }

  /** It quotes nothing of the body but the known words of INVALID_NUMBERS. */
  #brokenAt(at: number): Broken {
    const word = INVALID_NUMBERS.find((word) => this.#json.isAt(word, at));
    if (at >= this.#body.length) return notJson('it ends too early.');
    if (word === undefined) return notJson(`unexpected text at byte ${at}.`);
    return notJson(`${word} at byte ${at}. JSON has no such number: omit the member.`);
  }
}

function notJson(why: string): Broken {
  return { code: 'invalid_json', message: `is not JSON: ${why}` };
}

const NOT_UTF8: Broken = { code: 'invalid_json', message: 'is not valid UTF-8.' };
const TOO_DEEP: Broken = {
  code: 'too_deep',
  message: `is nested deeper than ${EVENT_DEPTH_LEVELS} levels`,
};

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
