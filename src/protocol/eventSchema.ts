import { type Static, Type } from '@sinclair/typebox';
import { NAME_CODE_POINTS, REVISION_MAX } from '../base/limits.ts';
import { NAME_PATTERN } from './courtEvent.ts';
import {
  EVENT_TYPES,
  type EventType,
  PAYLOAD,
  PAYLOAD_FIELDS,
  type PayloadField,
  TYPES,
} from './eventTypes.ts';
import type { OddFields } from './payload.ts';

/**
 * An event on the wire (spec 2.1 and 2.2; src/http/README.md, "The event"). The `description` of each field is the rule that a
 * camera vendor is shown when it is broken. The format of `eot` is checked by `eotToNs`, since no schema can express it.
 *
 * Separate from courtEvent.ts because TypeBox takes 20 MB of memory, which a command that validates nothing should not need.
 */

const Name = Type.String({
  pattern: NAME_PATTERN,
  description: `must be a string of 1 to ${NAME_CODE_POINTS} characters with no control character and no lone surrogate`,
});
/** The types are listed so that 1e400 has none. */
const Anything = {
  type: ['number', 'string', 'boolean', 'object', 'array', 'null'],
  description: 'must be a number that a double can hold',
};

/** The rules for fields whose type is checked: nothing else in a payload makes an event invalid (spec 2.2). */
const RULES = { number: 'must be a number', boolean: 'must be true or false', string: 'must be a string' };

const ANY_PAYLOAD = Object.fromEntries(PAYLOAD_FIELDS.map((name) => [name, Anything]));

function ruled(name: PayloadField) {
  const { kind } = PAYLOAD[name];
  return { type: [kind, 'null'], description: RULES[kind] };
}

function payloadWith(fields: object) {
  return { properties: { payload: { properties: { ...ANY_PAYLOAD, ...fields } } } };
}

/** One within the other, so that each field has one rule. */
const PAYLOAD_RULES = EVENT_TYPES.filter((type) => TYPES[type].isTyped).reduce<object>(
  (otherwise, type) => ({
    if: { required: ['type'], properties: { type: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
    then: payloadWith(Object.fromEntries(TYPES[type].fields.map((name) => [name, ruled(name)]))),
    else: otherwise,
  }),
  payloadWith({}),
);

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
    payload: Type.Unsafe<OddFields>({
      type: 'object',
      description: 'must be an object',
    }),
  },
  {
    description: 'must be an object',
    ...PAYLOAD_RULES,
  },
);

/** A valid event; of its payload only odd fields. */
export type WireEvent = Static<typeof EventSchema>;
