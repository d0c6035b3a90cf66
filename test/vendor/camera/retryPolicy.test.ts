import t from 'tap';
import { Backoff } from '../../../src/base/backoff.ts';
import { type BoxAnswer, decide } from '../../../src/vendor/camera/retryPolicy.ts';

/** The table of the vendor's guide ("Retrying"), as the simulated cameras follow it. */

const answered = (status: number, body: unknown, retryAfter = ''): BoxAnswer => ({
  status,
  retryAfter,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

t.test('what counts as stored is a 202 whose counts add up', (t) => {
  t.match(decide(answered(202, { accepted: 2, duplicates: 1 }), 3), { kind: 'stored', duplicates: 1 });
  for (const body of [{ accepted: 2, duplicates: 0 }, {}, [], 'null', 'stored', '', { accepted: 3 }])
    t.match(decide(answered(202, body), 3), { kind: 'retry', toldMs: undefined }, JSON.stringify(body));
  t.end();
});

t.test('a retryable answer is followed by the same request, after the time in Retry-After', (t) => {
  const retryable = { retryable: true, error: 'Why.' };
  t.match(decide(answered(503, retryable, '5'), 1), { kind: 'retry', toldMs: 5_000, why: '503: Why.' });
  t.match(decide(answered(429, retryable, '2'), 1), { kind: 'retry', toldMs: 2_000 });
  for (const word of ['soon', '-1', '1e3', '99999', 'Sun, 06 Nov 2034 08:49:37 GMT', ''])
    t.match(decide(answered(503, retryable, word), 1), { kind: 'retry', toldMs: undefined }, word);
  t.match(decide(answered(401, '<html>'), 1), { kind: 'retry', toldMs: 30_000 });
  t.match(decide(answered(502, '<html>'), 1), { kind: 'retry', toldMs: undefined });
  t.match(decide(answered(0, ''), 1), { kind: 'retry', why: 'no answer' });
  t.end();
});

t.test('what will never be taken is dropped or split', (t) => {
  const invalid = (...indexes: unknown[]) => ({
    retryable: false,
    invalid: indexes.map((index) => ({ index })),
  });
  const drop = decide(answered(400, invalid(0, 2)), 3);
  t.strictSame(drop.kind === 'drop' && [...drop.dropped], [0, 2]);
  t.match(decide(answered(400, { retryable: false }), 3), { kind: 'split' }, 'it names no event');
  t.match(decide(answered(400, invalid(3, -1, 0.5, null)), 3), { kind: 'split' });
  const all = { kind: 'drop', dropped: new Set([0]) };
  t.match(decide(answered(400, { retryable: false }), 1), all);
  t.match(
    decide(answered(404, { retryable: false }), 3),
    { kind: 'drop', dropped: new Set([0, 1, 2]) },
    'no event is at fault',
  );
  t.match(decide(answered(413, { retryable: false }), 2), { kind: 'split' });
  t.match(decide(answered(413, '<html>'), 2), { kind: 'split' });
  t.match(decide(answered(413, { retryable: false }), 1), all);
  t.end();
});

t.test('waits follow Retry-After, else they double from 1 s up to 30 s, and a little more', (t) => {
  const even = new Backoff();
  const waits = [undefined, undefined, 7_000, undefined, undefined, undefined, undefined];
  t.strictSame(
    waits.map((told) => even.next(told, 0)),
    [1_000, 2_000, 7_000, 8_000, 16_000, 30_000, 30_000],
  );
  t.equal(even.next(0, 0), 1_000, 'never at once');
  t.equal(new Backoff().next(10_000, 0.5), 11_000);
  t.end();
});
