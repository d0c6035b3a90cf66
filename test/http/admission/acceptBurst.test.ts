import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { AcceptBurst } from '../../../src/http/admission/acceptBurst.ts';

t.test('while connections come, requests wait; not for ever', async (t) => {
  const arrivals = new AcceptBurst();
  t.equal(arrivals.over(), undefined);
  arrivals.connectionCame();
  const over = arrivals.over();
  t.ok(over, 'one has come');
  await over;
  t.equal(arrivals.over(), undefined, 'and no other');
  arrivals.connectionCame();
  let isOver = false;
  void arrivals.over()!.then(() => {
    isOver = true;
  });
  // They never stop coming.
  while (!isOver) {
    arrivals.connectionCame();
    await nextTurn();
  }
});
