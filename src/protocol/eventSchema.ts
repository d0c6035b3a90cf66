import { type Static, Type } from '@sinclair/typebox';
import { NAME_CODE_POINTS, REVISION_MAX } from '../base/limits.ts';
import { EVENT_TYPES, NAME_PATTERN } from './event.ts';
import type { OddFields } from './payload.ts';

/**
 * An event on the wire (spec 2.1 and 2.2; src/http/README.md, "The event"). The `description` of each field is the rule that a
 * camera vendor is shown when it is broken. The format of `eot` is checked by `eotToNs`, since no schema can express it.
 *
 * Separate from event.ts because TypeBox takes 20 MB of memory, which a command that validates nothing should not need.
 */

const Name = Type.String({
  pattern: NAME_PATTERN,
  description: `must be a string of 1 to ${NAME_CODE_POINTS} characters with no control character and no lone surrogate`,
});
/** Types are listed so that 1e400 is none of them. */
const Anything = {
  type: ['number', 'string', 'boolean', 'object', 'array', 'null'],
  description: 'must be a number that a double can hold',
};

/** The one payload that the protocol defines (spec 2.2): nothing else in a payload makes an event invalid. */
export const BOUNCE_FIELDS = {
  x_ft: { type: ['number', 'null'], description: 'must be a number' },
  y_ft: { type: ['number', 'null'], description: 'must be a number' },
  is_in: { type: ['boolean', 'null'], description: 'must be true or false' },
};

function payloadWith(fields: object) {
  return { properties: { payload: { properties: fields } } };
}

export const EventSchema = Type.Object(
  {
    event_id: Name,
    session_id: Name,
    venue_id: Name,
    court_id: Name,
    eot: Type.String({ description: 'must be a string' }),
    type: Type.Unsafe<(typeof EVENT_TYPES)[number]>({
      type: 'string',
      enum: EVENT_TYPES,
      description: `must be one of ${EVENT_TYPES.join(', ')}`,
    }),
    confidence: Type.Number({ minimum: 0, maximum: 1, description: 'must be a number from 0 to 1' }),
    source: Name,
    schema_version: Type.String({
      pattern: '^1(?:\\.[0-9]{1,3}){0,2}$',
      description: 'must be a string "1", "1.x" or "1.x.y" with x and y of 1 to 3 digits, such as "1.0"',
    }),
    revision: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 0,
        maximum: REVISION_MAX,
        description: `must be an integer from 0 to ${REVISION_MAX}`,
      }),
    ),
    payload: Type.Unsafe<OddFields>({
      type: 'object',
      properties: { kmh: Anything, player_id: Anything, shot_type: Anything, swing_type: Anything },
      description: 'must be an object',
    }),
  },
  {
    description: 'must be an object',
    if: { required: ['type'], properties: { type: { const: 'BALL_BOUNCE' } } },
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
    then: payloadWith(BOUNCE_FIELDS),
    else: payloadWith({ x_ft: Anything, y_ft: Anything, is_in: Anything }),
  },
);

/** A valid event; of its payload only odd fields. */
export type WireEvent = Static<typeof EventSchema>;
