import t from 'tap';
import { OldTokenUse } from '../../../src/store/tokens/tokenUse.ts';

const S = 1_000;
const FOR_EVER = Number.POSITIVE_INFINITY;

t.test('a camera uses a retiring token until it uses another one, or the token ends', (t) => {
  const use = new OldTokenUse();
  const clients = (now: number) => use.report(now).map(({ id, clients }) => [id, ...clients]);
  use.note('new', 3, FOR_EVER, 0);
  use.note('old', 1, 3_600 * S, 0);
  use.note('older', 2, 7_200 * S, 0);
  t.strictSame(use.report(600 * S), [
    { id: 1, ends_in_s: 3_000, clients: ['old'] },
    { id: 2, ends_in_s: 6_600, clients: ['older'] },
  ]);
  use.note('old', 3, FOR_EVER, 601 * S);
  t.strictSame(clients(601 * S), [[2, 'older']]);
  use.note('gateway', 1, 3_600 * S, 700 * S);
  use.note('gateway', 3, FOR_EVER, 710 * S);
  t.strictSame(
    clients(820 * S),
    [
      [2, 'older'],
      [1, 'gateway'],
    ],
    'two cameras, perhaps',
  );
  t.strictSame(clients(821 * S), [[2, 'older']]);
  t.strictSame(clients(7_200 * S), []);
  t.end();
});
