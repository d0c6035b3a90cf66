import t from 'tap';
import { retryLater } from '../../src/protocol/errors.ts';

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
