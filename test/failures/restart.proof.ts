import t from 'tap';
import { Cameras, storedIds } from '../harness/cameras.ts';
import { Daemon } from '../harness/daemon.ts';

t.test('restarts under load, again and again, with resends: every event is there, and once', async (t) => {
  let daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const cameras = new Cameras(t, daemon);
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGINT'] as const) {
    await cameras.more(1_000);
    t.equal(await daemon.stop(signal), signal === 'SIGKILL' ? null : 0, signal);
    daemon = await Daemon.run(t, daemon.data, daemon.token, ['--rate-limit', '0']);
    cameras.follow(daemon);
  }
  await cameras.more(1_000);
  await cameras.stop();
  t.strictSame(await storedIds(daemon), cameras.acknowledged.sort());
  t.strictSame(
    [...cameras.refused.keys()].filter((code) => code !== 'gone' && code !== 'shutting_down'),
    [],
    'no other refusal, and no fault',
  );
});
