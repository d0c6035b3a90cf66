import {
  BATCH_EVENTS,
  BODY_BYTES,
  EOT_CHARS,
  LISTED_EVENTS,
  LISTED_FAULTS,
  PORT,
} from '../../base/limits.ts';
import { courtdVersion } from '../../base/version.ts';
import { EOT_SHAPE } from '../../protocol/eot.ts';
import { PROBLEMS, type ProblemCode } from '../../protocol/errors.ts';
import { EventSchema } from '../../protocol/eventSchema.ts';
import { EVENT_TYPES, MEMBERS, PAYLOAD, TYPES } from '../../protocol/eventTypes.ts';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** @returns the OpenAPI 3.1 document of the one endpoint: JSON values only. */
export function openapiDocument() {
  return {
    openapi: '3.1.1',
    info: {
      title: 'courtd: court events of a venue',
      version: courtdVersion(),
      description:
        "A `202` means that the events are on disk. Until then the sender keeps them, and sends them again; a resend is stored once. The vendor's guide of courtd explains how to retry.",
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `http://courtd.local:${PORT}`, description: 'The box on the network of the venue.' }],
    security: [{ token: [] }],
    paths: { '/v1/events': { post: POST } },
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: "The venue's token." } },
      schemas: { Event: EVENT, Accepted: ACCEPTED, Problem: PROBLEM },
    },
  };
}

function meaningOf(name: keyof typeof MEMBERS): string {
  const { meaning, unit } = MEMBERS[name];
  return `${meaning[0]!.toUpperCase()}${meaning.slice(1)}${unit === undefined ? '' : `, in ${unit}`}.`;
}

const { properties: FIELDS, required } = EventSchema;
const FIELD_NAMES = Object.keys(FIELDS) as (keyof typeof FIELDS)[];
/** With the fields that are usual. Only those of a typed payload have a type, lest a client drops what the box would take. */
const BY_TYPE = EVENT_TYPES.map((type) => {
  const { fields, isTyped } = TYPES[type];
  const rules = fields.map((name) => {
    const { kind } = PAYLOAD[name];
    return [name, { title: `${meaningOf(name)} A ${kind}.`, ...(isTyped && { type: [kind, 'null'] }) }];
  });
  return { properties: { type: { const: type }, payload: { properties: Object.fromEntries(rules) } } };
});

/** As courtd validates it, and what each field means. */
const EVENT = {
  type: 'object',
  required,
  description: 'A court event. Fields that are not listed are kept, and returned by an export.',
  properties: {
    ...Object.fromEntries(FIELD_NAMES.map((name) => [name, { ...FIELDS[name], title: meaningOf(name) }])),
    eot: {
      type: 'string',
      title: meaningOf('eot'),
      description:
        'must be an ISO 8601 time with an offset, and a real date in the years 1678 to 2261, in UTC',
      // Checked by a function, since no pattern knows the days of a month.
      pattern: EOT_SHAPE.source,
      maxLength: EOT_CHARS,
    },
    payload: { type: 'object', title: 'What the source reports. Null is as absent, other fields are kept.' },
  },
  anyOf: BY_TYPE,
};

const count = (description: string) => ({ type: 'integer', minimum: 0, description });

/** The schema of an object without other members. */
const closed = (properties: Readonly<Record<string, object>>, required = Object.keys(properties)) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});

const ACCEPTED = closed({
  accepted: count('Events stored now.'),
  duplicates: count('Events that were stored already. The two add up to the number of events sent.'),
});

const ISSUE = closed({
  path: { type: 'string', description: 'Dotted, such as `payload.x_ft`; empty for the event itself.' },
  message: { type: 'string', description: 'The rule that it breaks.' },
});
const ISSUES = { type: 'array', minItems: 1, maxItems: LISTED_FAULTS, items: ISSUE };
const TOTAL = count('All of them, if not all are listed.');
const INVALID = closed(
  {
    index: count('Position in the array, from 0.'),
    event_id: { type: ['string', 'null'], description: 'Null if it is not valid.' },
    issues: ISSUES,
    issues_total: TOTAL,
  },
  ['index', 'event_id', 'issues'],
);

/** As `Problem.body` makes it (protocol/errors.ts). */
const PROBLEM = {
  description: 'Problem details (RFC 9457). Branch on `code` and `retryable`.',
  ...closed(
    {
      type: { type: 'string', enum: CODES.map((code) => `urn:courtd:problem:${code}`) },
      title: { type: 'string' },
      status: { type: 'integer' },
      code: { type: 'string', enum: CODES },
      error: { type: 'string', description: 'A sentence for people.' },
      request_id: { type: 'string', description: "The log has it too. Give it to the venue's operator." },
      retryable: { type: 'boolean', description: 'Whether the same events may be accepted later.' },
      details: { ...ISSUES, description: 'For a single event: its faults.' },
      details_total: TOTAL,
      invalid: { type: 'array', minItems: 1, maxItems: LISTED_EVENTS, items: INVALID },
      invalid_total: TOTAL,
      limit_bytes: count('For a body that is too large: the limit.'),
      size_bytes: count('Its size, if Content-Length declared it.'),
      limit_values: count('For a body of too many JSON values: the limit.'),
    },
    ['type', 'title', 'status', 'code', 'error', 'request_id', 'retryable'],
  ),
};

/** Events of each type, with the fields that are usual with it. A test sends them to a courtd. */
const [BOUNCE, ...OTHERS] = EVENT_TYPES.map((type, i) => ({
  event_id: `0198c5e2-7d1c-7a54-9d54-3b1d0f2a9c${10 + i}`,
  session_id: 'match-17',
  venue_id: 'venue-1',
  court_id: 'court-7',
  eot: `2026-03-14T15:09:${26 + i}.535Z`,
  type,
  confidence: 0.97,
  source: 'court-7-cam-1',
  schema_version: '1.0',
  payload: Object.fromEntries(TYPES[type].fields.map((name) => [name, PAYLOAD[name].example])),
}));

const header = (description: string, type = 'string') => ({ description, schema: { type } });
const RETRY_AFTER = { 'Retry-After': header('Seconds to wait.', 'integer') };
const HEADERS: Readonly<Record<number, object>> = {
  401: { ...RETRY_AFTER, 'WWW-Authenticate': header('RFC 6750.') },
  405: { Allow: header('The only method.') },
  415: { Accept: header('The only media type.'), 'Accept-Encoding': header('The only encoding.') },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** The response of a status, with the codes that have it. */
function problemResponse(status: number): object {
  const codes = CODES.filter((code) => PROBLEMS[code].status === status);
  const properties = {
    status: { const: status },
    code: { enum: codes },
    retryable: { enum: [...new Set(codes.map((code) => PROBLEMS[code].retryable))] },
  };
  const schema = { allOf: [reference('Problem'), { type: 'object', properties }] };
  return {
    description: `${codes.map((code) => `${PROBLEMS[code].title} (\`${code}\`)`).join('; ')}.`,
    headers: HEADERS[status],
    content: { 'application/problem+json': { schema } },
  };
}

const LIST = { type: 'array', items: reference('Event'), maxItems: BATCH_EVENTS };
const EXAMPLES = {
  event: { summary: 'One event: a ball has bounced', value: BOUNCE },
  batch: { summary: 'One of each of the other types', value: OTHERS },
  nothing: { summary: 'An empty array: checks the address and the token', value: [] },
};
const BODY = { schema: { anyOf: [reference('Event'), LIST] }, examples: EXAMPLES };

const POST = {
  operationId: 'sendEvents',
  summary: 'Send one event, or an array of them',
  description: `All of a request is stored, or nothing. The body has at most ${BODY_BYTES / 1024 ** 2} MiB unless the operator has set another limit; it may be compressed with gzip.`,
  requestBody: { required: true, content: { 'application/json': BODY } },
  responses: {
    202: {
      description: 'Every event is on disk: delete them from your buffer now, and not before.',
      headers: { 'Courtd-Conflicts': header('How many duplicates had other content, if any.', 'integer') },
      content: { 'application/json': { schema: reference('Accepted') } },
    },
    ...Object.fromEntries(Object.values(PROBLEMS).map(({ status }) => [status, problemResponse(status)])),
  },
};
