import { BATCH_EVENTS, BODY_BYTES, PORT } from '../../base/limits.ts';
import { PROBLEMS, type ProblemCode } from '../../protocol/errors.ts';
import { EVENT_TYPES, PAYLOAD, TYPES } from '../../protocol/eventTypes.ts';
import { SCHEMAS } from './schemas.ts';

/** @param version of courtd. @returns the OpenAPI 3.1 document of the one endpoint: JSON values only. */
export function openapiDocument(version: string) {
  return {
    openapi: '3.1.1',
    info: {
      title: 'courtd: court events of a venue',
      version,
      summary: 'The box in a sports venue that court cameras send their events to.',
      description:
        "A `202` means that the events are on disk. Until then the sender keeps them, and sends them again; a resend is stored once. The vendor's guide of courtd explains how to retry.",
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `http://courtd.local:${PORT}`, description: 'The box on the network of the venue.' }],
    security: [{ token: [] }],
    paths: { '/v1/events': { post: POST } },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: "The venue's token. Never put it into the URL.",
        },
      },
      schemas: SCHEMAS,
    },
  };
}

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

const text = (description: string) => ({ description, required: true, schema: { type: 'string' } });
const RETRY_AFTER = { ...text('Seconds to wait.'), schema: { type: 'integer', minimum: 1 } };

/** Header fields that a status has beyond those of every problem. */
const HEADERS: Readonly<Record<number, object>> = {
  401: { 'WWW-Authenticate': text('RFC 6750.'), 'Retry-After': RETRY_AFTER },
  405: { Allow: text('The only method, POST.') },
  415: {
    Accept: { description: 'If the media type is wrong.', schema: { const: 'application/json' } },
    'Accept-Encoding': { description: 'If the encoding is wrong.', schema: { const: 'gzip' } },
  },
  429: { 'Retry-After': RETRY_AFTER },
  503: { 'Retry-After': RETRY_AFTER },
};

/** The response of a status, with the codes that have it. */
function problemResponse(status: number): object {
  const codes = (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => PROBLEMS[code].status === status);
  const narrowed = {
    type: { enum: codes.map((code) => `urn:courtd:problem:${code}`) },
    title: { enum: codes.map((code) => PROBLEMS[code].title) },
    status: { const: status },
    code: { enum: codes },
    retryable: { enum: [...new Set(codes.map((code) => PROBLEMS[code].retryable))] },
  };
  const schema = {
    allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: narrowed }],
  };
  return {
    description: `${codes.map((code) => `${PROBLEMS[code].title} (\`${code}\`)`).join('; ')}.`,
    headers: { 'Cache-Control': text('No proxy may store it.'), ...HEADERS[status] },
    content: { 'application/problem+json': { schema } },
  };
}

const EVENT = { $ref: '#/components/schemas/Event' };
const POST = {
  operationId: 'sendEvents',
  summary: 'Send one event, or an array of them',
  description: `All of a request is stored, or nothing. The body has at most ${BODY_BYTES / 1024 ** 2} MiB unless the operator has set another limit; it may be compressed with gzip.`,
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: { anyOf: [EVENT, { type: 'array', items: EVENT, maxItems: BATCH_EVENTS }] },
        examples: {
          event: { summary: 'One event: a ball has bounced', value: BOUNCE },
          batch: { summary: 'One of each of the other types', value: OTHERS },
          nothing: { summary: 'An empty array: checks the address and the token', value: [] },
        },
      },
    },
  },
  responses: {
    '202': {
      description: 'Every event is on disk: delete them from your buffer now, and not before.',
      headers: {
        'Courtd-Conflicts': {
          description: 'How many duplicates had other content than the stored event. Absent if none had.',
          schema: { type: 'integer', minimum: 1 },
        },
      },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Accepted' } } },
    },
    ...Object.fromEntries(
      Object.values(PROBLEMS).map(({ status }) => [String(status), problemResponse(status)]),
    ),
  },
};
