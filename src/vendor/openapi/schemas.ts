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

/** Puts the meaning of a field before its rule. */
function described(name: Field, schema: TSchema): TSchema {
  const { meaning } = MEMBERS[name];
  return { ...schema, description: `${capital(meaning)}. It ${schema.description}.` };
}

function capital(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}

function describedAll(properties: Readonly<Record<string, TSchema>>): Record<string, TSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, described(name as Field, schema)]),
  );
}

const { payload: _, eot, type, ...others } = EventSchema.properties;

/** What all events have: that of each type is made of it. */
const ENVELOPE_SCHEMA = {
  type: 'object',
  description:
    'Of every event, whatever its type. Fields that are not listed are kept, and returned by an export.',
  required: EventSchema.required,
  properties: {
    ...describedAll(others),
    eot: {
      ...described('eot', eot),
      description: `${capital(MEMBERS.eot.meaning)}. It must be an ISO 8601 time with an offset, and a real date in the years 1678 to 2261, in UTC.`,
      // Checked by a function, since no pattern knows the days of a month.
      pattern: EOT_SHAPE.source,
      maxLength: EOT_CHARS,
    },
    type: described('type', type),
    payload: {
      type: 'object',
      description: 'What the source says of this type of event. It must be an object.',
    },
  },
};

const IN_WORDS = { number: ': a number', boolean: '', string: ': a string' } as const;

/** Only the fields of a typed payload have a type: a document that is stricter than the box would have a client drop events that it takes. */
function payloadOf(type: EventType) {
  const { fields, isTyped } = TYPES[type];
  const properties = fields.map((name) => {
    const { meaning, unit } = MEMBERS[name];
    const { kind } = PAYLOAD[name];
    const what = `${capital(meaning)}${IN_WORDS[kind]}${unit === undefined ? '' : `, in ${unit}`}.`;
    const otherwise = ' Of another type it is kept, and its column in an export is empty or has its text.';
    return [name, isTyped ? { type: [kind, 'null'], description: what } : { description: what + otherwise }];
  });
  return {
    type: 'object',
    description: `Usual with ${type}. Null is as absent, and fields that are not listed are kept.`,
    properties: Object.fromEntries(properties),
  };
}

/** `BALL_BOUNCE` is the schema `BallBounce`. */
function schemaName(type: EventType): string {
  return type.replace(/_?([A-Z])([A-Z]*)/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}

const REFERENCES = EVENT_TYPES.map((type) => [type, `#/components/schemas/${schemaName(type)}`] as const);

/** The schema of an event, and that of each type. */
export const EVENT_SCHEMAS = {
  Event: {
    description: 'A court event: its `type` says which payload is usual.',
    oneOf: REFERENCES.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(REFERENCES) },
  },
  Envelope: ENVELOPE_SCHEMA,
  ...Object.fromEntries(
    EVENT_TYPES.map((type) => [
      schemaName(type),
      {
        allOf: [
          { $ref: '#/components/schemas/Envelope' },
          { type: 'object', properties: { type: { type: 'string', const: type }, payload: payloadOf(type) } },
        ],
      },
    ]),
  ),
};

const COUNT = { type: 'integer', minimum: 0 } as const;

export const ACCEPTED_SCHEMA = {
  type: 'object',
  description: 'The two add up to the number of events that were sent.',
  required: ['accepted', 'duplicates'],
  properties: {
    accepted: { ...COUNT, description: 'Events that are new, and stored now.' },
    duplicates: { ...COUNT, description: 'Events that were stored already.' },
  },
  additionalProperties: false,
};

const FAULT = {
  type: 'object',
  required: ['path', 'message'],
  properties: {
    path: { type: 'string', description: 'Dotted, such as `payload.x_ft`; empty for the event itself.' },
    message: { type: 'string', description: 'The rule that it breaks.' },
  },
  additionalProperties: false,
};
const FAULTS = { type: 'array', items: FAULT, minItems: 1, maxItems: LISTED_FAULTS };

/** As `Problem.body` makes it (protocol/errors.ts). */
export const PROBLEM_SCHEMA = {
  type: 'object',
  description:
    'Nothing of the request was stored; only after a `storage_failed` may it have been. Problem details (RFC 9457): branch on ' +
    '`code` and `retryable`.',
  required: ['type', 'title', 'status', 'code', 'error', 'request_id', 'retryable'],
  properties: {
    type: { type: 'string', enum: Object.keys(PROBLEMS).map((code) => `urn:courtd:problem:${code}`) },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    error: { type: 'string', description: 'A sentence for people.' },
    request_id: {
      type: 'string',
      description: "The log of the box has it too: tell it to the venue's operator.",
    },
    retryable: {
      type: 'boolean',
      description: 'Whether the same events, sent again unchanged, may be accepted.',
    },
    details: { ...FAULTS, description: 'For a single event: its faults.' },
    details_total: { ...COUNT, description: 'All of its faults, where not all are listed.' },
    invalid: {
      type: 'array',
      description: 'For an array: the events that are invalid.',
      minItems: 1,
      maxItems: LISTED_EVENTS,
      items: {
        type: 'object',
        required: ['index', 'event_id', 'issues'],
        properties: {
          index: { ...COUNT, description: 'Position in the array, from 0.' },
          event_id: { type: ['string', 'null'], description: 'As sent; null where it could not be read.' },
          issues: FAULTS,
          issues_total: { ...COUNT, description: 'All of its faults, where not all are listed.' },
        },
        additionalProperties: false,
      },
    },
    invalid_total: { ...COUNT, description: 'All invalid events.' },
    limit_bytes: { ...COUNT, description: 'For a body that is too large: the limit.' },
    size_bytes: { ...COUNT, description: 'Its size, where Content-Length declared it.' },
    limit_values: { ...COUNT, description: 'For a body of too many JSON values: the limit.' },
  },
  additionalProperties: false,
};
