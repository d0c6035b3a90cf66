import t from 'tap';
import { PROBLEMS, Problem, type ProblemCode, retryLater } from '../../src/protocol/errors.ts';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];
/** The statuses of design section 2, and no other. */
const STATUSES = [400, 401, 404, 405, 408, 413, 415, 417, 429, 431, 500, 503];

t.test('every code has a status of the design and is one word a client can branch on', async (t) => {
  for (const code of CODES) {
    t.ok(STATUSES.includes(PROBLEMS[code].status), `${code}: ${PROBLEMS[code].status}`);
    t.match(code, /^[a-z]+(_[a-z]+)*$/);
    t.match(PROBLEMS[code].title, /^[A-Z].*[^.]$/, 'a title, not a sentence');
  }
  t.strictSame([...new Set(CODES.map((code) => PROBLEMS[code].status))].sort(), STATUSES, 'none is missing');
});

t.test(
  'a client may repeat what failed for now: 401 with the new token, 408, 429 and 5xx, and nothing else',
  async (t) => {
    for (const code of CODES) {
      const { status, retryable } = PROBLEMS[code];
      t.equal(retryable, status >= 500 || [401, 408, 429].includes(status), code);
    }
  },
);

t.test('a body carries the members of RFC 9457 and those of the protocol', async (t) => {
  const members = { limit_bytes: 8, size_bytes: 9 };
  const problem = new Problem('body_too_large', 'Too "large"\n\u{1f3be}.', members, { 'X-Of-It': '1' });
  t.equal(problem.status, 413);
  t.equal(problem.message, 'Too "large"\n\u{1f3be}.');
  t.strictSame(problem.headers, { 'X-Of-It': '1' });
  t.strictSame(JSON.parse(problem.body('req-1')), {
    type: 'urn:courtd:problem:body_too_large',
    title: 'Body too large',
    status: 413,
    code: 'body_too_large',
    error: 'Too "large"\n\u{1f3be}.',
    request_id: 'req-1',
    retryable: false,
    limit_bytes: 8,
    size_bytes: 9,
  });
});

t.test('Retry-After is in whole seconds, rounded up, and never 0', async (t) => {
  const cases: [seconds: number, header: string][] = [
    [0, '1'],
    [0.001, '1'],
    [1, '1'],
    [1.2, '2'],
    [5, '5'],
  ];
  for (const [seconds, header] of cases) {
    const problem = retryLater('storage_busy', 'Busy.', seconds);
    t.strictSame(problem.headers, { 'Retry-After': header }, `${seconds}`);
    t.equal(problem.code, 'storage_busy');
    t.equal(problem.message, 'Busy.');
  }
});
