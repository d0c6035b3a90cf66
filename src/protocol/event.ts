import { isDeepStrictEqual } from 'node:util';
import { COMPARED_CHARS, NAME_CODE_POINTS } from '../base/limits.ts';

/** What a court event is to the store and to its readers (spec 2.1); eventSchema.ts says what one must look like. */

export const EVENT_TYPES = [
  'BALL_BOUNCE',
  'BALL_HIT',
  'BALL_SPEED',
  'PLAYER_POSITION',
  'PLAYER_IDENTITY',
] as const;

/** The members of an event that the protocol names, and those of its payload (spec 2.1 and 2.2); others are kept as they are. */
export const ENVELOPE_FIELDS = [
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
] as const;
export const PAYLOAD_FIELDS = [
  'x_ft',
  'y_ft',
  'is_in',
  'kmh',
  'player_id',
  'shot_type',
  'swing_type',
] as const;

/** Matches code points, not UTF-16 units: it is compiled with the `u` flag, by Ajv too. */
export const NAME_PATTERN = `^[^\\u0000-\\u001f\\u007f-\\u009f\\p{Cs}]{1,${NAME_CODE_POINTS}}$`;
const NAME = new RegExp(NAME_PATTERN, 'u');

/** @returns whether a text can be an event_id, session_id, venue_id, court_id or source. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** A valid event in the form that the store keeps. */
export interface CourtEvent {
  readonly eventId: string;
  readonly sessionId: string;
  readonly venueId: string;
  readonly courtId: string;
  /** As sent. */
  readonly eot: string;
  /** Nanoseconds since 1970-01-01T00:00:00Z. */
  readonly eotNs: bigint;
  readonly type: string;
  readonly confidence: number;
  readonly source: string;
  readonly schemaVersion: string;
  readonly revision: number;
  /** JSON text of an object. */
  readonly payload: string;
  /** JSON text of an object of the envelope's unknown fields; null where there are none. */
  readonly extra: string | null;
}

/** @returns the event as one JSON object, the same value that was sent; `revision` is always written (design 1.4). */
export function eventToJson(event: Omit<CourtEvent, 'eotNs'>): string {
  const text = JSON.stringify;
  const unknown = event.extra === null ? '' : `,${event.extra.slice(1, -1)}`;
  return (
    `{"event_id":${text(event.eventId)},"session_id":${text(event.sessionId)},"venue_id":${text(event.venueId)}` +
    `,"court_id":${text(event.courtId)},"eot":${text(event.eot)},"type":"${event.type}"` +
    `,"confidence":${event.confidence},"source":${text(event.source)}` +
    `,"schema_version":${text(event.schemaVersion)},"revision":${event.revision}` +
    `,"payload":${event.payload}${unknown}}`
  );
}

/**
 * @returns whether two events with one key are the same JSON value; if not, they are in conflict (design 2). Where that
 * cannot be told cheaply, another text is another value.
 */
export function sameContent(a: CourtEvent, b: CourtEvent): boolean {
  return (
    a.eot === b.eot &&
    a.type === b.type &&
    a.confidence === b.confidence &&
    a.venueId === b.venueId &&
    a.courtId === b.courtId &&
    a.source === b.source &&
    a.schemaVersion === b.schemaVersion &&
    sameText(a.payload, b.payload) &&
    sameText(a.extra ?? '{}', b.extra ?? '{}')
  );
}

/** Large texts are compared as they are: this runs between others' events, and parsing takes its time. */
function sameText(a: string, b: string): boolean {
  if (a === b) return true;
  if (a.length + b.length > 2 * COMPARED_CHARS || !isSafeToParse(a) || !isSafeToParse(b)) return false;
  return isDeepStrictEqual(JSON.parse(a), JSON.parse(b));
}

/** Whether JSON.parse gives all of a text's value: it rounds numbers, and mixes up names with a backslash (json.ts). */
function isSafeToParse(text: string): boolean {
  let hasEscapeInName = false;
  const rest = text.replace(STRINGS, (string, colon: string) => {
    if (colon !== '' && string.includes('\\')) hasEscapeInName = true;
    return '';
  });
  return !hasEscapeInName && !LONG_NUMBER.test(rest);
}

/**
 * With the colon of a name. From string to string: what looks for an escape and then for the end of its string does so again
 * from each escape on, 50 ms in a text of nothing else.
 */
const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"(:?)/g;
/** What a double may not hold: more than 15 digits (IEEE 754, DBL_DIG), or an exponent of more than two. */
const LONG_NUMBER = /\d{16}|[\d.]{17}|[eE][+-]?\d{3}/;
