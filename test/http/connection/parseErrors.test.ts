import t from 'tap';
import { parserProblem } from '../../../src/http/connection/parseErrors.ts';

t.test('each error of the parser has its problem', (t) => {
  const problems = {
    HPE_HEADER_OVERFLOW: 'headers_too_large',
    ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
    HPE_INVALID_EOF_STATE: 'request_timeout',
    HPE_PAUSED_H2_UPGRADE: 'malformed_request',
    // Not the client's fault: what it sent was lost here.
    HPE_PAUSED: 'overloaded',
    HPE_INVALID_METHOD: 'malformed_request',
  };
  for (const [code, expected] of Object.entries(problems)) {
    const problem = parserProblem({ name: 'Error', message: '', code }, false);
    t.equal(problem.code, expected, code);
    t.equal('Retry-After' in problem.headers, expected === 'overloaded', code);
  }
  t.end();
});
