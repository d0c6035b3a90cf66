import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { parseMetrics } from '../harness/metrics.ts';

runInProcess();

t.test('an empty array is answered with two zeros, and nothing is committed for it', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(event());
  const commits = async () => {
    const { stdout } = await daemon.command('metrics');
    return parseMetrics(stdout).series.get('courtd_commit_seconds_count');
  };
  const before = await commits();
  for (let i = 0; i < 100; i++) {
    const answer = await daemon.post([]);
    t.strictSame([answer.status, await answer.json()], [202, { accepted: 0, duplicates: 0 }]);
  }
  t.equal(await commits(), before);
});
