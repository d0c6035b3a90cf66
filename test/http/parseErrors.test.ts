import t from 'tap';
import { parserProblem } from '../../src/http/parseErrors.ts';

t.test('each error of the parser has its problem', (t) => {
  const usual = { readableEnded: false, writableNeedDrain: false };
  const problems = [
    ['headers_too_large', 'HPE_HEADER_OVERFLOW', {}],
    ['request_timeout', 'ERR_HTTP_REQUEST_TIMEOUT', {}],
    ['request_timeout', undefined, { readableEnded: true }],
    // Not the client's fault: what it sent was lost here.
    ['overloaded', undefined, { writableNeedDrain: true }],
    ['malformed_request', undefined, {}],
  ] as const;
  for (const [expected, code, socket] of problems) {
    const error = Object.assign(new Error(), code === undefined ? {} : { code });
    const problem = parserProblem(error, { ...usual, ...socket }, false);
    t.equal(problem.code, expected);
    t.equal('Retry-After' in problem.headers, expected === 'overloaded', expected);
  }
  t.end();
});
