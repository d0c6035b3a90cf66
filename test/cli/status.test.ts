import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import type { Status } from '../../src/health/boxStatus.ts';
import { courtd, Daemon, run } from '../harness/daemon.ts';
import { damagePages } from '../harness/damage.ts';
import { ROOT } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** What a transcript of `courtd status` cannot show: golden/status.golden and golden/problems.golden have the rest. */

async function statusOf(t: Test, data: string): Promise<{ exit: number | null; status: Status }> {
  const { status: exit, stdout, stderr } = await courtd(['status', '--json', '--data', data]);
  t.equal(stderr, '');
  const status = JSON.parse(stdout) as Status;
  return { exit, status };
}

/** An eot so many seconds ago. */
function ago(seconds: number): string {
  return new Date(Date.now() - seconds * 1_000).toISOString();
}

const codes = ({ problems }: Status) => problems.map(({ code }) => code);

t.test('a scheduled backup that failed is a problem until a backup is made', async (t) => {
  const { data } = await Daemon.start(t);
  const unit = fs.readFileSync(path.join(ROOT, 'systemd/courtd-backup.service'), 'utf8');
  const [, script = ''] = /^ExecStopPost=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
  const end = (SERVICE_RESULT: string) =>
    run('/bin/sh', ['-c', script.replaceAll('$$', '$')], { env: { SERVICE_RESULT, STATE_DIRECTORY: data } });
  const failed = async () => codes((await statusOf(t, data)).status).includes('backup_failed');
  for (const result of ['success', 'exec-condition', 'oom-kill']) {
    await end(result);
    t.equal(await failed(), result === 'oom-kill', result);
  }
  t.equal((await courtd(['backup', path.join(data, 'b.db'), '--data', data])).status, 0);
  t.notOk(await failed());
});

t.test(
  'a restart solves nothing: conflicts, odd fields, odd times and refusals are still reported',
  async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.post(event({ event_id: '7', eot: ago(0), type: 'BALL_SPEED', payload: { kmh: '91.5' } }));
    await daemon.post(event({ event_id: '7', eot: ago(0), confidence: 0.5 }));
    await daemon.post(event({ eot: '1970-01-01T00:00:12Z' }));
    await daemon.post(event({ source: 'bad', confidence: 7 }));
    const { status: before } = await statusOf(t, daemon.data);
    t.strictSame(codes(before), ['refused', 'conflicts', 'odd_time', 'odd_payload']);
    await daemon.stop();
    await Daemon.run(t, daemon.data, daemon.token);
    const { status: after } = await statusOf(t, daemon.data);
    t.strictSame(codes(after), codes(before));
    const [, camera] = [before, after].map(
      ({ sources }) => sources.find(({ source }) => source === 'camera-1')!,
    );
    t.match(camera, { state: 'unknown', conflicts: 1, client: '127.0.0.1' });
  },
);

t.test('damage that only a camera has come across is in status', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = event({ court_id: 'court-2', source: 'camera-9' });
  t.equal((await daemon.post(sent)).status, 202);
  t.strictSame(codes((await statusOf(t, daemon.data)).status), []);
  damagePages(daemon.data, 'conflict_copy_turn', (leaves) => leaves);
  t.equal((await daemon.post({ ...sent, confidence: 0.5 })).status, 503);
  const { exit, status } = await statusOf(t, daemon.data);
  t.equal(exit, 1);
  t.match(status, { state: 'failing', problems: [{ code: 'damage', level: 'fail' }] });
  t.match(status.sources, [{ source: 'camera-9', court_id: 'court-2', events_last_day: 1 }]);
});
