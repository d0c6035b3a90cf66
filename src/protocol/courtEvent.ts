import { NAME_CODE_POINTS } from '../base/limits.ts';
import { isoTime } from '../base/units.ts';
import type { EventType } from './eventTypes.ts';

/** A court event as the store and its readers see it (spec 2.1); eventSchema.ts has the schema of the wire format. */

/**
 * No control character (C0, DEL, C1), and no lone surrogate: those would all be stored as U+FFFD, and distinct ids become equal.
 * Compiled with the `u` flag, by Ajv too, so that it counts code points. Written so that Python, which has no \p, reads it alike.
 */
export const NAME_PATTERN = `^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]{1,${NAME_CODE_POINTS}}$`;
const NAME = new RegExp(NAME_PATTERN, 'u');

/** @returns whether a text is valid as an event_id, session_id, venue_id, court_id or source. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** A valid event, in the form in which it is stored. */
export interface CourtEvent {
  readonly eventId: string;
  readonly sessionId: string;
  readonly venueId: string;
  readonly courtId: string;
  /** As sent. */
  readonly eot: string;
  /** Nanoseconds since 1970-01-01T00:00:00Z. */
  readonly eotNs: bigint;
  readonly type: EventType;
  readonly confidence: number;
  readonly source: string;
  readonly schemaVersion: string;
  readonly revision: number;
  /** JSON text of an object. */
  readonly payload: string;
  /** JSON text of an object of the envelope's unknown fields; null if there are none. */
  readonly extra: string | null;
  /** Whether an erasure has removed a player (playerRedaction.ts): the event differs from what was sent. */
  readonly erased?: boolean | 1 | null | undefined;
  /** Known fields of the payload that hold another kind of value, as `describeOdd` describes them. Not stored. */
  readonly odd?: readonly string[] | undefined;
}

const text = (value: string) => JSON.stringify(value);

/** @returns the event as JSON text: the same value that was sent, in the protocol's member order, always with `revision`. */
export function eventToJson(event: Omit<CourtEvent, 'eotNs'>): string {
  const unknown = event.extra === null ? '' : `,${event.extra.slice(1, -1)}`;
  return (
    `{"event_id":${text(event.eventId)},"session_id":${text(event.sessionId)},"venue_id":${text(event.venueId)}` +
    `,"court_id":${text(event.courtId)},"eot":${text(event.eot)},"type":"${event.type}"` +
    `,"confidence":${event.confidence},"source":${text(event.source)}` +
    `,"schema_version":${text(event.schemaVersion)},"revision":${event.revision}` +
    `,"payload":${event.payload}${unknown}}`
  );
}

/** A stored event as most readers need it. */
export interface Arrival extends Omit<CourtEvent, 'eotNs'> {
  /** Order of arrival. */
  readonly seq: number;
  /** When it was received, milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/**
 * @param isLate whether it is printed behind an event with a later eot.
 * @returns a line of `tail --json`, with its line end: the event as in an NDJSON export, with its seq and the time of receipt.
 */
export function arrivalToJson(event: Arrival, isLate = false): string {
  const marks = (event.erased ? '"erased":true,' : '') + (isLate ? '"late":true,' : '');
  return `{"seq":${event.seq},"received_at":"${isoTime(event.receivedMs)}",${marks}"event":${eventToJson(event)}}\n`;
}
