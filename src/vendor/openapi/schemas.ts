import type { TSchema } from '@sinclair/typebox';
import { EOT_CHARS, LISTED_EVENTS, LISTED_FAULTS } from '../../base/limits.ts';
import { EOT_SHAPE } from '../../protocol/eot.ts';
import { PROBLEMS } from '../../protocol/errors.ts';
import { EventSchema } from '../../protocol/eventSchema.ts';
import {
  EVENT_TYPES,
  type EventType,
  type Field,
  MEMBERS,
  PAYLOAD,
  TYPES,
} from '../../protocol/eventTypes.ts';

/** The schemas of the document (JSON Schema 2020-12). That of an event is the one that courtd validates with. */

const capital = (text: string) => `${text[0]!.toUpperCase()}${text.slice(1)}`;

const { payload: _, ...others } = EventSchema.properties;

const ENVELOPE_SCHEMA = {
  type: 'object',
  description: 'Of every event. Fields that are not listed are kept, and returned by an export.',
  required: EventSchema.required,
  properties: {
    ...Object.fromEntries(
      Object.entries<TSchema>(others).map(([name, schema]) => {
        const description = `${capital(MEMBERS[name as Field].meaning)}. It ${schema.description}.`;
        return [name, { ...schema, description }];
      }),
    ),
    eot: {
      type: 'string',
      description: `${capital(MEMBERS.eot.meaning)}. It must be an ISO 8601 time with an offset, and a real date in the years 1678 to 2261, in UTC.`,
      // Checked by a function, since no pattern knows the days of a month.
      pattern: EOT_SHAPE.source,
      maxLength: EOT_CHARS,
    },
    payload: { type: 'object', description: 'What the source reports with this type of event.' },
  },
};

/** Only the fields of a typed payload have a type: a document that is stricter than the box would have a client drop events. */
function payloadOf(type: EventType) {
  const { fields, isTyped } = TYPES[type];
  const properties = fields.map((name) => {
    const { meaning, unit } = MEMBERS[name];
    const { kind } = PAYLOAD[name];
    const description = `${capital(meaning)} (${kind}${unit === undefined ? '' : `, in ${unit}`}).`;
    return [name, isTyped ? { type: [kind, 'null'], description } : { description }];
  });
  return {
    type: 'object',
    description: `Usual with ${type}. Null is as absent, other fields are kept, and so is a value of another type if the document allows it.`,
    properties: Object.fromEntries(properties),
  };
}

/** `BALL_BOUNCE` is the schema `BallBounce`. */
const schemaName = (type: EventType) =>
  type.replace(/_?([A-Z])([A-Z]*)/g, (_, first: string, rest: string) => first + rest.toLowerCase());
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const REFERENCES = EVENT_TYPES.map((type) => [type, reference(schemaName(type)).$ref] as const);

const COUNT = { type: 'integer', minimum: 0 } as const;
const count = (description: string) => ({ ...COUNT, description });

/** Of an object without other members. */
const closed = (properties: Readonly<Record<string, object>>, required = Object.keys(properties)) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});

const ISSUES = {
  type: 'array',
  minItems: 1,
  maxItems: LISTED_FAULTS,
  items: closed({
    path: { type: 'string', description: 'Dotted, such as `payload.x_ft`; empty for the event itself.' },
    message: { type: 'string', description: 'The rule that it breaks.' },
  }),
};

const INVALID = closed(
  {
    index: count('Position in the array, from 0.'),
    event_id: { type: ['string', 'null'], description: 'As sent; null if it could not be read.' },
    issues: ISSUES,
    issues_total: count('All of its faults, if not all are listed.'),
  },
  ['index', 'event_id', 'issues'],
);

export const SCHEMAS = {
  Event: {
    description: 'A court event. Its `type` says which payload is usual.',
    oneOf: REFERENCES.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(REFERENCES) },
  },
  Envelope: ENVELOPE_SCHEMA,
  ...Object.fromEntries(
    EVENT_TYPES.map((type) => {
      const own = { type: { type: 'string', const: type }, payload: payloadOf(type) };
      return [schemaName(type), { allOf: [reference('Envelope'), { type: 'object', properties: own }] }];
    }),
  ),
  Accepted: {
    description: 'The two add up to the number of events that were sent.',
    ...closed({
      accepted: count('Events stored now.'),
      duplicates: count('Events that were stored already.'),
    }),
  },
  /** As `Problem.body` makes it (protocol/errors.ts). */
  Problem: {
    description:
      'Nothing of the request was stored; only after a `storage_failed` may it have been. Problem details (RFC 9457): branch on `code` and `retryable`.',
    ...closed(
      {
        type: { type: 'string', enum: Object.keys(PROBLEMS).map((code) => `urn:courtd:problem:${code}`) },
        title: { type: 'string' },
        status: { type: 'integer' },
        code: { type: 'string', enum: Object.keys(PROBLEMS) },
        error: { type: 'string', description: 'A sentence for people.' },
        request_id: { type: 'string', description: "The log has it too. Give it to the venue's operator." },
        retryable: { type: 'boolean', description: 'Whether the same events may be accepted later.' },
        details: { ...ISSUES, description: 'For a single event: its faults.' },
        details_total: count('All of its faults, if not all are listed.'),
        invalid: { type: 'array', minItems: 1, maxItems: LISTED_EVENTS, items: INVALID },
        invalid_total: count('All invalid events.'),
        limit_bytes: count('For a body that is too large: the limit.'),
        size_bytes: count('Its size, if Content-Length declared it.'),
        limit_values: count('For a body of too many JSON values: the limit.'),
      },
      ['type', 'title', 'status', 'code', 'error', 'request_id', 'retryable'],
    ),
  },
};
