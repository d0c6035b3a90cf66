import { type Static, Type } from '@sinclair/typebox';
import { NAME_CODE_POINTS, REVISION_MAX } from '../base/limits.ts';
import { NAME_PATTERN } from './courtEvent.ts';
import { EVENT_TYPES, type EventType } from './eventTypes.ts';
import type { OddFields } from './payload.ts';

/**
 * An event on the wire (spec 2.1 and 2.2; src/http/README.md, "The event"). The `description` of each field is the rule that a
 * camera vendor is shown when it is broken. The format of `eot` and the fields of a payload are checked in validate.ts.
 *
 * Separate from courtEvent.ts because TypeBox takes 20 MB of memory, which a command that validates nothing should not need.
 */

const Name = Type.String({
  pattern: NAME_PATTERN,
  description: `must be a string of 1 to ${NAME_CODE_POINTS} characters with no control character and no lone surrogate`,
});
export const EventSchema = Type.Object(
  {
    event_id: Name,
    session_id: Name,
    venue_id: Name,
    court_id: Name,
    eot: Type.String({ description: 'must be a string' }),
    type: Type.Unsafe<EventType>({
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
    payload: Type.Unsafe<OddFields>({ type: 'object', description: 'must be an object' }),
  },
  { description: 'must be an object' },
);

/** A valid event; of its payload only odd fields. */
export type WireEvent = Static<typeof EventSchema>;
