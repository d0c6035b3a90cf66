import { once } from 'node:events';
import { mock } from 'node:test';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { workAnyhow } from '../../src/control/workClient.ts';
import { stopClock } from '../harness/clock.ts';
import { stoppedBox } from '../harness/scratchStore.ts';

t.test('a command gives way to a daemon after 15 s, and not before it has got further', async (t) => {
  const { data } = stoppedBox(t);
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const moveOn = stopClock(t);
  const pass = (ms: number) => {
    moveOn(ms);
    mock.timers.tick(ms);
  };
  let [tries, progress] = [0, 0];
  const done = await workAnyhow(new DataDirectory(data), {
    path: '/none',
    request: {},
    command: 'prune',
    on: () => {},
    cut: () => {},
    progress: () => progress,
    failed: (why) => t.fail(why),
    alone: async (_store, signal) => {
      if (++tries === 2) return 'done';
      pass(60_000);
      t.notOk(signal.aborted, 'it has not got further');
      const over = once(signal, 'abort');
      progress++;
      pass(1_000);
      await over;
      throw signal.reason;
    },
  });
  t.equal(done, 'done', 'it went on, as no daemon came');
});
