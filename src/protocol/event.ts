import { type Static, Type } from '@sinclair/typebox';
import { sameJson } from './json.ts';
import { COMPARED_CHARS, NAME_CODE_POINTS, REVISION_MAX } from './limits.ts';

/**
 * What a court event is (spec 2.1 and 2.2, design 2). Each field's `description` is its rule in the words that a
 * camera vendor is told when it is broken. `eot` is checked by `eotToNs`, which a schema cannot express.
 */

export const EVENT_TYPES = [
  'BALL_BOUNCE',
  'BALL_HIT',
  'BALL_SPEED',
  'PLAYER_POSITION',
  'PLAYER_IDENTITY',
] as const;

/** Matches code points, not UTF-16 units: it is compiled with the `u` flag, by Ajv too. */
const NAME_PATTERN = `^[^\\u0000-\\u001f\\u007f-\\u009f\\p{Cs}]{1,${NAME_CODE_POINTS}}$`;
const NAME = new RegExp(NAME_PATTERN, 'u');
const Name = Type.String({
  pattern: NAME_PATTERN,
  description: `must be a string of 1 to ${NAME_CODE_POINTS} characters with no control character and no lone surrogate`,
});
const OptionalNumber = Type.Optional(Type.Number({ description: 'must be a number' }));
const OptionalText = Type.Optional(Type.String({ description: 'must be a string' }));

export const EventSchema = Type.Object(
  {
    event_id: Name,
    session_id: Name,
    venue_id: Name,
    court_id: Name,
    eot: Type.String({ description: 'must be a string' }),
    type: Type.Unsafe<(typeof EVENT_TYPES)[number]>({
      enum: EVENT_TYPES,
      description: `must be one of ${EVENT_TYPES.join(', ')}`,
    }),
    confidence: Type.Number({ minimum: 0, maximum: 1, description: 'must be a number from 0 to 1' }),
    source: Name,
    schema_version: Type.String({
      pattern: '^1\\.[0-9]{1,3}$',
      description: 'must be a string "1.x" with x of 1 to 3 digits, such as "1.0"',
    }),
    revision: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: REVISION_MAX,
        description: `must be an integer from 0 to ${REVISION_MAX}`,
      }),
    ),
    payload: Type.Object(
      {
        x_ft: OptionalNumber,
        y_ft: OptionalNumber,
        kmh: OptionalNumber,
        is_in: Type.Optional(Type.Boolean({ description: 'must be true or false' })),
        player_id: OptionalText,
        shot_type: OptionalText,
        swing_type: OptionalText,
      },
      { description: 'must be an object' },
    ),
  },
  { description: 'must be an object' },
);

/** What the protocol names; everything else is kept as it is. */
export const ENVELOPE_FIELDS: ReadonlySet<string> = new Set(Object.keys(EventSchema.properties));
export const PAYLOAD_FIELDS: ReadonlySet<string> = new Set(
  Object.keys(EventSchema.properties.payload.properties),
);

/** @returns whether a text can be an event_id, session_id, venue_id, court_id or source. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** An event as JSON.parse gives it, once it is known to be valid. */
export type WireEvent = Static<typeof EventSchema>;

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

/** @returns whether two events with one key are the same JSON value; if not, they are in conflict (design 2). */
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
  return a === b || (a.length + b.length <= 2 * COMPARED_CHARS && sameJson(a, b));
}
