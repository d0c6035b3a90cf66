import { isAscii, isUtf8 } from 'node:buffer';
import { eotToNs } from './eot.ts';
import type { CourtEvent } from './event.ts';
import { checkJson, JsonError } from './exact.ts';
import { type EventRules, explainBatch, explainEvent, explainFaults, isValidEvent } from './faults.ts';
import { keptTexts, outlinesOf } from './large.ts';
import { BATCH_EVENTS, EVENT_DEPTH_LEVELS, PARSED_HERE_BYTES } from './limits.ts';
import { compact, hasInfinity, parseBoth, trim } from './pieces.ts';
import { Problem } from './problems.ts';
import { type Scan, scanJson } from './scan.ts';
import type { WireEvent } from './wire.ts';

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
  try {
    return text.length > PARSED_HERE_BYTES ? readInPieces(text, scan, rules) : readAtOnce(text, scan, rules);
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Problem('invalid_json', `The body is not JSON${whereBroken(text)}.`);
    throw error;
  }
}

function readAtOnce(text: string, scan: Scan, rules: EventRules): CourtEvent[] {
  const { sent, kept } = parseBoth(text, scan);
  if (typeof sent !== 'object' || sent === null) throw neither();
  const events = hasInfinity(sent, scan) ? undefined : toEvents(asArray(sent), asArray(kept), rules);
  if (events === undefined) throw explainFaults(sent, rules);
  return events;
}

function readInPieces(text: string, scan: Scan, rules: EventRules): CourtEvent[] {
  const bare = trim(text);
  if (scan.top === 'other') {
    compact(bare, scan);
    throw neither();
  }
  const events: CourtEvent[] = [];
  for (const { sent, payload, extra } of outlinesOf(bare, scan)) {
    const eotNs = isValidEvent(sent, rules) && !hasInfinity(sent, scan) ? eotToNs(sent.eot) : undefined;
    if (eotNs === undefined) throw explainPieces(bare, scan, rules);
    events.push(toEvent(sent as WireEvent, eotNs, payload, extra));
  }
  return events;
}

/** From the first event on, once more: they have not been kept. */
function explainPieces(text: string, scan: Scan, rules: EventRules): Problem {
  const events = outlinesOf(text, scan);
  return scan.top === 'array' ? explainBatch(events, rules) : explainEvent([...events][0]!, rules);
}

function neither(): Problem {
  return new Problem('invalid_json', 'The body must be one event (a JSON object) or an array of events.');
}

/** V8 tells the place in some of its messages only, and quotes the body in others. */
function whereBroken(text: string): string {
  try {
    checkJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return error.at < text.length ? `: unexpected text at character ${error.at}` : ': it ends too early';
  }
  return '';
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** The good path: nothing is described here, the first fault ends it. */
function toEvents(sent: unknown[], kept: unknown[], rules: EventRules): CourtEvent[] | undefined {
  const events: CourtEvent[] = [];
  for (let i = 0; i < sent.length; i++) {
    const event = sent[i];
    if (!isValidEvent(event, rules)) return undefined;
    const eotNs = eotToNs(event.eot);
    if (eotNs === undefined) return undefined;
    const { payload, extra } = keptTexts(kept[i]);
    events.push(toEvent(event, eotNs, payload, extra));
  }
  return events;
}

function toEvent(sent: WireEvent, eotNs: bigint, payload: string, extra: string | null): CourtEvent {
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
    payload,
    extra,
  };
}
