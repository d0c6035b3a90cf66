import { type Static, Type } from '@sinclair/typebox';
import { NAME_CODE_POINTS, REVISION_MAX } from '../base/limits.ts';
import { EVENT_TYPES, NAME_PATTERN } from './event.ts';

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
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
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

/** A valid event; of its payload only the members that the protocol defines. */
export type WireEvent = Static<typeof EventSchema>;
