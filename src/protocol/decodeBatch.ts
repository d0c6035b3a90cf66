import { BATCH_EVENTS, BODY_VALUES } from '../base/limits.ts';
import type { CourtEvent } from './courtEvent.ts';
import { Problem } from './errors.ts';
import type { WireEvent } from './eventSchema.ts';
import { JsonReader } from './jsonReader.ts';
import { describeOdd } from './payload.ts';
import { readBody, readEvent, type SentEvent } from './sentEvent.ts';
import {
  cameraOf,
  check,
  type EventRules,
  explainBatch,
  explainEvent,
  type InvalidSent,
} from './validate.ts';

/**
 * Parses and validates a request's body in a single pass: all of its events or none (spec 4.1, batch rule).
 *
 * The strings of the events are slices of the body's text and keep the whole text in memory: copy one that outlives the request.
 *
 * @param body decompressed; one JSON object, or an array of at most BATCH_EVENTS objects, in UTF-8 without a byte order mark.
 * @returns the events in the order of the request; none for an empty array.
 * @throws {Problem} 400 invalid_json, too_deep, too_many_events or invalid_event; 413 body_too_large.
 */
export function decodeBatch(body: Buffer, rules: EventRules = {}): CourtEvent[] {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new Problem('invalid_json', 'The body starts with a byte order mark: send it without one.');
  }
  const json = new JsonReader(body, BODY_VALUES);
  json.skipSpaces();
  const isArray = json.peek() === '[';
  const isEvent = json.peek() === '{';
  const events: CourtEvent[] = [];
  const invalid: InvalidSent[] = [];
  let count = 0;
  let first: SentEvent | undefined;
  const outside = readBody(json, () => {
    const index = count++;
    if (index >= BATCH_EVENTS) return json.skip();
    const event = readEvent(json);
    first ??= event;
    const checked = check(event, rules);
    if (typeof checked === 'bigint') events.push(toEvent(event, checked));
    else invalid.push({ index, event, faults: checked });
  });
  if (invalid.length === 0 && outside === undefined && count <= BATCH_EVENTS) return events;
  const camera = { ...cameraOf(first), ...cameraOf(invalid[0]?.event) };
  const broken = isArray ? outside : (invalid[0]?.event.fault ?? outside);
  const isTooLarge = outside?.code === 'body_too_large';
  if (broken !== undefined && (isTooLarge || !isArray || invalid.length === 0)) {
    const sentence = `The ${broken.code === 'too_deep' ? 'event' : 'body'} ${broken.message}.`;
    throw new Problem(broken.code, sentence, isTooLarge ? { limit_values: BODY_VALUES } : {}, {}, camera);
  }
  if (!isArray && !isEvent)
    throw new Problem('invalid_json', 'The body must be one event (a JSON object) or an array of events.');
  if (outside === undefined && count > BATCH_EVENTS) {
    const sentence = `The array holds ${count} events; at most ${BATCH_EVENTS} are allowed in one request.`;
    throw new Problem('too_many_events', sentence, {}, {}, { ...camera, events: count });
  }
  if (!isArray) throw explainEvent(invalid[0]!);
  throw explainBatch(invalid, outside === undefined ? count : undefined, outside, camera);
}

function toEvent({ sent: valid, payload, extra }: SentEvent, eotNs: bigint): CourtEvent {
  const sent = valid as WireEvent;
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
