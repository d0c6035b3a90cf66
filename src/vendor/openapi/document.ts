import { BATCH_EVENTS, BODY_BYTES, PORT } from '../../base/limits.ts';
import { REQUEST_EXAMPLES } from './examples.ts';
import { problemResponses } from './problems.ts';
import { ACCEPTED_SCHEMA, EVENT_SCHEMAS, PROBLEM_SCHEMA } from './schemas.ts';

/** @param version of courtd. @returns the OpenAPI 3.1 document of the one endpoint: JSON values only. */
export function openapiDocument(version: string) {
  return {
    openapi: '3.1.1',
    info: {
      title: 'courtd: court events of a venue',
      version,
      summary: 'The box in a sports venue that court cameras send their events to.',
      description:
        "A `202` means that the events are on disk. Until then the sender keeps them, and sends them again; a resend is stored once. The vendor's guide of courtd says how to retry.",
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{scheme}://{box}:{port}',
        description: 'The box on the network of the venue.',
        variables: {
          scheme: { default: 'http', enum: ['http', 'https'] },
          box: { default: 'courtd.local', description: "Its address, from the venue's operator." },
          port: { default: String(PORT) },
        },
      },
    ],
    security: [{ token: [] }],
    paths: { '/v1/events': { post: POST } },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: "The venue's token. Treat it like a password, and never put it into the URL.",
        },
      },
      schemas: { ...EVENT_SCHEMAS, Accepted: ACCEPTED_SCHEMA, Problem: PROBLEM_SCHEMA },
    },
  };
}

const POST = {
  operationId: 'sendEvents',
  summary: 'Send one event, or an array of them',
  description: `All of a request is stored, or nothing. The body has at most ${BODY_BYTES / 1024 ** 2} MiB unless the operator has set another limit; it may be compressed with gzip.`,
  parameters: [
    {
      name: 'Content-Encoding',
      in: 'header',
      description: 'Only where the body is compressed.',
      schema: { type: 'string', enum: ['gzip', 'identity'] },
    },
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: {
          anyOf: [
            { $ref: '#/components/schemas/Event' },
            { type: 'array', items: { $ref: '#/components/schemas/Event' }, maxItems: BATCH_EVENTS },
          ],
        },
        examples: REQUEST_EXAMPLES,
      },
    },
  },
  responses: {
    '202': {
      description: 'Every event is on disk: delete them from your buffer now, and not before.',
      headers: {
        'Courtd-Conflicts': {
          description:
            'How many of the duplicates had different content than what is stored, and were not stored. Absent if none had.',
          schema: { type: 'integer', minimum: 1 },
        },
      },
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Accepted' },
          examples: {
            stored: { summary: 'A new event', value: { accepted: 1, duplicates: 0 } },
            resent: { summary: 'The same event again', value: { accepted: 0, duplicates: 1 } },
          },
        },
      },
    },
    ...problemResponses(),
  },
};
