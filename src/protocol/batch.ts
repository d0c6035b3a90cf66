import { isAscii, isUtf8 } from 'node:buffer';
import { eotToNs } from './eot.ts';
import type { CourtEvent, WireEvent } from './event.ts';
import { JsonError, parseJson } from './exact.ts';
import { type EventRules, explainFaults, isValidEvent } from './faults.ts';
import { eachInfinite, parseExact } from './json.ts';
import { BATCH_EVENTS, EVENT_DEPTH_LEVELS } from './limits.ts';
import { Problem } from './problems.ts';
import { scanJson } from './scan.ts';

const ENVELOPE_FIELDS = new Set([
  'event_id',
  'session_id',
  'venue_id',
  'court_id',
  'eot',
  'type',
  'confidence',
  'source',
  'schema_version',
  'revision',
  'payload',
]);

/**
 * A request's body, from bytes to events that the store can keep, or to a problem that names every fault: all of
 * them or none (spec 4.1, batch rule).
 *
 * @param body the decoded body.
 * @returns the events in the order of the request; none for an empty array.
 * @throws {Problem} 400: invalid_json, too_deep, too_many_events or invalid_event.
 */
export function readBatch(body: Buffer, rules: EventRules = {}): CourtEvent[] {
  if (!isUtf8(body)) throw new Problem('invalid_json', 'The body is not valid UTF-8.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new Problem('invalid_json', 'The body starts with a byte order mark: send it without.');
  }
  const scan = scanJson(body);
  if (scan.tooDeepAt >= 0) {
    const which = scan.top === 'array' ? `Event ${scan.tooDeepAt} of the array` : 'The event';
    throw new Problem('too_deep', `${which} is nested deeper than ${EVENT_DEPTH_LEVELS} levels.`);
  }
  if (scan.count > BATCH_EVENTS) {
    const sentence = `The array holds ${scan.count} events; at most ${BATCH_EVENTS} are allowed in one request.`;
    throw new Problem('too_many_events', sentence);
  }
  const text = body.toString(isAscii(body) ? 'latin1' : 'utf8');
  const sent = parseBody(text, scan.oddName);
  // What is kept is what was sent, digit for digit; the second parse is only for bodies that need it.
  const kept = scan.inexact ? parseExact(text) : sent;
  const events = hasInfinity(sent, scan.inexact) ? undefined : toEvents(asArray(sent), asArray(kept), rules);
  if (events === undefined) throw explainFaults(sent, rules);
  return events;
}

/** @param isOdd whether JSON.parse must not see it. */
function parseBody(text: string, isOdd: boolean): unknown {
  let value: unknown;
  try {
    value = isOdd ? parseJson(text, Number) : JSON.parse(text);
  } catch {
    throw new Problem('invalid_json', `The body is not JSON${whereBroken(text)}.`);
  }
  if (typeof value === 'object' && value !== null) return value;
  throw new Problem('invalid_json', 'The body must be one event (a JSON object) or an array of events.');
}

/** V8 tells the place in some of its messages only, and quotes the body in others. */
function whereBroken(text: string): string {
  try {
    parseJson(text, Number);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return error.at < text.length ? `: unexpected text at character ${error.at}` : ': it ends too early';
  }
  return '';
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function hasInfinity(value: unknown, suspected: boolean): boolean {
  let isThere = false;
  if (suspected) {
    eachInfinite(value, () => {
      isThere = true;
      return false;
    });
  }
  return isThere;
}

/** The good path: nothing is described here, the first fault ends it. */
function toEvents(sent: unknown[], kept: unknown[], rules: EventRules): CourtEvent[] | undefined {
  const events: CourtEvent[] = [];
  for (let i = 0; i < sent.length; i++) {
    const event = sent[i];
    if (!isValidEvent(event, rules)) return undefined;
    const eotNs = eotToNs(event.eot);
    if (eotNs === undefined) return undefined;
    events.push(toEvent(event, kept[i] as WireEvent, eotNs));
  }
  return events;
}

function toEvent(sent: WireEvent, kept: WireEvent, eotNs: bigint): CourtEvent {
  return {
    eventId: sent.event_id,
    sessionId: sent.session_id,
    venueId: sent.venue_id,
    courtId: sent.court_id,
    eot: sent.eot,
    eotNs,
    type: sent.type,
    confidence: sent.confidence,
    source: sent.source,
    schemaVersion: sent.schema_version,
    // Plus zero: -0 is an integer too, and would be kept as another one.
    revision: (sent.revision ?? 0) + 0,
    payload: JSON.stringify(kept.payload),
    extra: unknownFields(kept as unknown as Record<string, unknown>),
  };
}

/** @returns JSON text of the fields that the envelope does not name, or null. */
function unknownFields(event: Record<string, unknown>): string | null {
  let extra: Record<string, unknown> | undefined;
  for (const name of Object.keys(event)) {
    if (ENVELOPE_FIELDS.has(name)) continue;
    // No prototype, or a field called __proto__ would vanish into it.
    extra ??= Object.create(null) as Record<string, unknown>;
    extra[name] = event[name];
  }
  return extra === undefined ? null : JSON.stringify(extra);
}
