import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { AcceptBurst } from '../../../src/http/admission/acceptBurst.ts';
import { setClock } from '../../harness/clock.ts';

t.test('while connections come, requests wait; not for ever', async (t) => {
  const burst = new AcceptBurst();
  t.equal(burst.ended(), undefined);
  burst.onConnection();
  const over = burst.ended();
  t.ok(over, 'one has come');
  let turns = 0;
  for (; burst.ended() !== undefined; turns++) await nextTurn();
  t.ok(turns >= 2, 'the first turn may have passed its accept phase already');
  t.ok(turns <= 8, `${turns} turns, not as many as there are in the longest burst`);
  t.equal(burst.ended(), undefined, 'and no other');
  burst.onConnection();
  let isOver = false;
  void burst.ended()!.then(() => {
    isOver = true;
  });
  // They never stop coming.
  while (!isOver) {
    burst.onConnection();
    await nextTurn();
  }
});

t.test('a process that was stopped as a burst began has no burst for ever', async (t) => {
  let ms = 0;
  setClock(t, () => (ms += 1_000));
  const burst = new AcceptBurst();
  burst.onConnection();
  await burst.ended();
  t.equal(burst.ended(), undefined);
});
