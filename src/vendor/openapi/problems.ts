import { PROBLEMS, type ProblemCode } from '../../protocol/errors.ts';

/** The error responses of the document, by status, made from the one table of problems. */

type HttpStatus = (typeof PROBLEMS)[ProblemCode]['status'];

interface Header {
  readonly description: string;
  readonly required?: true;
  readonly schema: object;
}

const RETRY_AFTER: Header = {
  description: 'Seconds to wait.',
  required: true,
  schema: { type: 'integer', minimum: 1 },
};
const fixed = (description: string, value: string): Header => ({
  description,
  schema: { type: 'string', const: value },
});

/** Header fields that a status has beyond those of every problem. */
const HEADERS: Readonly<Partial<Record<HttpStatus, Readonly<Record<string, Header>>>>> = {
  401: {
    'WWW-Authenticate': { description: 'RFC 6750.', required: true, schema: { type: 'string' } },
    'Retry-After': RETRY_AFTER,
  },
  405: { Allow: { ...fixed('The only method.', 'POST'), required: true } },
  415: {
    Accept: fixed('Where the media type is wrong.', 'application/json'),
    'Accept-Encoding': fixed('Where the encoding is wrong.', 'gzip'),
  },
  429: { 'Retry-After': RETRY_AFTER },
  503: { 'Retry-After': RETRY_AFTER },
};

const NO_STORE: Header = { ...fixed('No proxy may cache it.', 'no-store'), required: true };

/** @returns a response for each status, with the codes that have it. */
export function problemResponses(): Record<string, object> {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))];
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      responseOf(
        status,
        codes.filter((code) => PROBLEMS[code].status === status),
      ),
    ]),
  );
}

function responseOf(status: HttpStatus, codes: readonly ProblemCode[]): object {
  const retryable = [...new Set(codes.map((code) => PROBLEMS[code].retryable))];
  const narrowed = {
    type: { enum: codes.map((code) => `urn:courtd:problem:${code}`) },
    title: { enum: codes.map((code) => PROBLEMS[code].title) },
    status: { const: status },
    code: { enum: codes },
    retryable: { enum: retryable },
  };
  return {
    description: `${codes.map((code) => `${PROBLEMS[code].title} (\`${code}\`)`).join('; ')}.`,
    headers: { 'Cache-Control': NO_STORE, ...HEADERS[status] },
    content: {
      'application/problem+json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: narrowed }],
        },
      },
    },
  };
}
