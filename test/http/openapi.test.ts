import { gzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import t from 'tap';
import { BATCH_EVENTS, BODY_BYTES, BODY_VALUES, EOT_CHARS } from '../../src/base/limits.ts';
import { PROBLEMS, type ProblemCode } from '../../src/protocol/errors.ts';
import { ENVELOPE_FIELDS, EVENT_TYPES, PAYLOAD_FIELDS } from '../../src/protocol/eventTypes.ts';
import { openapiDocument } from '../../src/vendor/openapi/document.ts';
import { courtd, Daemon } from '../harness/daemon.ts';
import { eotText, oracleNs } from '../harness/eotOracle.ts';
import { event, events, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { type Answer, answerOf, newAddress, RawClient, request } from '../harness/rawClient.ts';
import { rejectedHeads, takenHeads } from '../harness/wireTable.ts';

runInProcess();

/** The OpenAPI document against the real daemon: what it says of requests and of answers. */

const daemon = await Daemon.start(t, ['--venue', 'venue-1']);
const { stdout } = await courtd(['openapi', '--data', '/nowhere']);
const document: Document = JSON.parse(stdout);
const { post } = document.paths['/v1/events'];

interface Document {
  readonly openapi: string;
  readonly paths: { readonly '/v1/events': { readonly post: Operation } };
}

interface Operation {
  readonly requestBody: { readonly content: { readonly 'application/json': Content } };
  readonly responses: Readonly<Record<string, ResponseOf>>;
}

interface Content {
  readonly schema: object;
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
}

interface ResponseOf {
  readonly headers?: Readonly<Record<string, { readonly schema: object }>>;
  readonly content: Readonly<Record<string, Content>>;
}

// The document as a whole is no schema: its own words are unknown to Ajv.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(document, 'openapi');

/** @returns the faults that a schema of the document finds in a value, as one text; empty if it finds none. */
function faultsOf(value: unknown, ...path: readonly string[]): string {
  const pointer = path.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
  const isValid = ajv.getSchema(`openapi#/${pointer}`) ?? ajv.compile({ $ref: `openapi#/${pointer}` });
  return isValid(value) ? '' : ajv.errorsText(isValid.errors);
}

const POST = ['paths', '/v1/events', 'post'];
const requestFaults = (body: unknown) =>
  faultsOf(body, ...POST, 'requestBody', 'content', 'application/json', 'schema');

/** @returns what of an answer is not as the document says. */
function answerFaults({ status, headers, body }: Answer): string {
  const response = post.responses[String(status)];
  if (response === undefined) return `status ${status} is not documented`;
  const type = headers.get('content-type') ?? '';
  if (response.content[type] === undefined) return `media type ${type} is not documented for ${status}`;
  const faults = [
    faultsOf(JSON.parse(body), ...POST, 'responses', String(status), 'content', type, 'schema'),
  ];
  for (const [name, { schema }] of Object.entries(response.headers ?? {})) {
    const text = headers.get(name);
    if (text === null) continue;
    const value = (schema as { type: string }).type === 'integer' ? Number(text) : text;
    faults.push(faultsOf(value, ...POST, 'responses', String(status), 'headers', name, 'schema'));
  }
  return faults.filter(Boolean).join('; ');
}

t.test('the command prints what openapiDocument makes, and needs no database', async (t) => {
  t.equal(document.openapi, '3.1.1');
  t.strictSame(document, JSON.parse(JSON.stringify(openapiDocument())));
});

t.test('each example is valid by the document, and stored by courtd', async (t) => {
  const { examples } = post.requestBody.content['application/json'];
  t.ok(Object.keys(examples).length > 2);
  for (const [name, { value }] of Object.entries(examples)) {
    t.equal(requestFaults(value), '', name);
    const answer = await answerOf(daemon.post(value));
    t.equal(answer.status, 202, `${name}: ${answer.body}`);
    t.strictSame(JSON.parse(answer.body), { accepted: [value].flat().length, duplicates: 0 }, name);
    t.equal(answerFaults(answer), '', name);
  }
});

t.test('an event is valid by the document exactly if courtd accepts it', async (t) => {
  const values = [null, 7, -0.5, 'text', true, [], {}];
  const names = ['n'.repeat(257), '🎾'.repeat(256), '🎾'.repeat(257), '', '\u0085', '\ud83c', 'é'];
  const eots = fc
    .sample(eotText(fc.constant(2026), fc.constant(3), fc.integer({ min: 1, max: 28 })), {
      seed: 1,
      numRuns: 50,
    })
    // No pattern knows the bounds of a clock and of an offset.
    .filter((eot) => oracleNs(eot) !== undefined || eot.length > EOT_CHARS)
    .flatMap((eot) => [eot, eot.slice(1), eot.replace(/.$/, '')]);
  const sent = [
    ...EVENT_TYPES.flatMap((type) =>
      PAYLOAD_FIELDS.flatMap((name) => values.map((value) => event({ type, payload: { [name]: value } }))),
    ),
    // The box takes one venue only.
    ...ENVELOPE_FIELDS.filter((name) => name !== 'venue_id').flatMap((name) =>
      [...values, undefined].map((value) => event({ [name]: value })),
    ),
    ...['1', '1.2', '1.2.345', '1.', '1.2345', '1.2.3.4', '2'].map((schema_version) =>
      event({ schema_version }),
    ),
    ...names.map((source) => event({ source })),
    ...eots.map((eot) => event({ eot })),
  ];
  let taken = 0;
  const differ: unknown[] = [];
  for (const one of sent) {
    const isTaken = (await posted(one)).status === 202;
    if (isTaken) taken++;
    if (isTaken !== (requestFaults(one) === '')) differ.push(one);
  }
  t.strictSame(differ, []);
  t.ok(taken > 150 && taken < sent.length - 150, `${taken} of ${sent.length}`);
});

const DEEP = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`;

/** A body for each code that is about one. */
const REFUSED: Readonly<Partial<Record<ProblemCode, () => Promise<Answer>>>> = {
  invalid_encoding: () => posted('no gzip', { 'Content-Encoding': 'gzip' }),
  invalid_json: () => posted('{"event_id":'),
  too_deep: () => posted(eventText({ payload: DEEP })),
  too_many_events: () => posted(events(BATCH_EVENTS + 1)),
  invalid_event: () => posted(event({ confidence: 2, eot: 'now', payload: { kmh: 'fast' } })),
  body_too_large: () => posted(eventText({ payload: `{"a":[${'0,'.repeat(BODY_VALUES)}0]}` })),
};

function posted(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return answerOf(daemon.post(body, headers));
}

t.test('every answer of the wire table is one of the document', async (t) => {
  const ask = (bytes: Buffer) => RawClient.ask(t, daemon, bytes, newAddress());
  for (const { code, sent } of rejectedHeads(daemon.token)) {
    for (const one of sent)
      t.equal(answerFaults(await ask(Buffer.isBuffer(one) ? one : request(daemon, one))), '', code);
  }
  for (const parts of takenHeads(daemon.token).filter(({ headers }) => headers?.expect === undefined))
    t.equal(answerFaults(await ask(request(daemon, { body: '[]', ...parts }))), '');
});

t.test('every rejection of a body is an answer of the document', async (t) => {
  for (const [code, ask] of Object.entries(REFUSED)) {
    const answer = await ask();
    t.equal(JSON.parse(answer.body).code, code);
    t.equal(answerFaults(answer), '', code);
  }
  const conflict = event();
  const many = Array.from({ length: 60 }, () => ({}));
  const others: readonly [string, unknown, Record<string, string>?][] = [
    ['an array with invalid events', [event(), event({ type: 'X' }), 3, {}]],
    ['more faults than are listed', many],
    ['another venue', event({ venue_id: 'elsewhere' })],
    ['gzip', gzipSync(JSON.stringify([conflict, conflict])), { 'Content-Encoding': 'gzip' }],
    ['a conflict', { ...conflict, confidence: 0.5 }],
    ['a resend', conflict],
  ];
  const declared = await RawClient.ask(
    t,
    daemon,
    request(daemon, { headers: { 'content-length': String(2 * BODY_BYTES) } }),
  );
  t.match(JSON.parse(declared.body), { code: 'body_too_large', size_bytes: 2 * BODY_BYTES });
  t.equal(answerFaults(declared), '');
  for (const [what, body, headers] of others) t.equal(answerFaults(await posted(body, headers)), '', what);
});

t.test('every problem is in the document, and another code is not', async (t) => {
  for (const [code, { status, title, retryable }] of Object.entries(PROBLEMS)) {
    const body = { type: `urn:courtd:problem:${code}`, title, status, code, retryable, request_id: '1' };
    const faults = (changed: object) =>
      answerFaults({
        status,
        headers: new Headers({ 'Content-Type': 'application/problem+json' }),
        body: JSON.stringify({ ...body, error: 'Why.', ...changed }),
      });
    t.equal(faults({}), '', code);
    t.not(faults({ code: 'unheard_of' }), '', `${code}: another code`);
    t.not(faults({ retryable: !retryable }), '', `${code}: the opposite of retryable`);
  }
});
