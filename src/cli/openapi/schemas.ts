import type { TSchema } from '@sinclair/typebox';
import { EOT_CHARS, LISTED_EVENTS, LISTED_FAULTS } from '../../base/limits.ts';
import { EOT_SHAPE } from '../../protocol/eot.ts';
import { PROBLEMS } from '../../protocol/errors.ts';
import { EventSchema } from '../../protocol/eventSchema.ts';
import { type Field, MEANINGS } from '../../protocol/meanings.ts';

/** The schemas of the document (JSON Schema 2020-12). That of an event is the one that courtd validates with. */

/** Puts the meaning of a field before its rule. */
function described(name: Field, schema: TSchema): TSchema {
  const { meaning } = MEANINGS[name];
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

const { payload, eot, ...others } = EventSchema.properties;

export const EVENT_SCHEMA = {
  ...EventSchema,
  description:
    'A court event. Fields that are not listed, here and in `payload`, are kept and returned by an export.',
  properties: {
    ...describedAll(others),
    eot: {
      ...described('eot', eot),
      description: `${capital(MEANINGS.eot.meaning)}. It must be an ISO 8601 time with an offset, and a real date in the years 1678 to 2261, in UTC.`,
      // Checked by a function, since no pattern knows the days of a month.
      pattern: EOT_SHAPE.source,
      maxLength: EOT_CHARS,
    },
    payload: { ...described('payload', payload), properties: describedAll(payload.properties) },
  },
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
