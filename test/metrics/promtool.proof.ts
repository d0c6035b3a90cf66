import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import t from 'tap';
import { Daemon, run } from '../harness/daemon.ts';
import { ROOT } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { missingPrograms } from '../harness/needs.ts';

/** The metrics and the rules before Prometheus itself. */

const programs = { skip: missingPrograms({ promtool: 'prometheus' }) ?? false };
const RULES = path.join(ROOT, 'systemd/courtd.rules.yml');
const TESTS = path.join(ROOT, 'test/metrics/courtd.rules.test.yml');

t.test(
  'promtool has nothing to say against the rules, and each alert fires when it should',
  programs,
  async (t) => {
    t.match(await run('promtool', ['check', 'rules', RULES]), { status: 0, stdout: /SUCCESS: \d rules/ });
    const tested = await run('promtool', ['test', 'rules', TESTS]);
    t.equal(tested.status, 0, tested.stdout + tested.stderr);
  },
);

t.test('promtool accepts the metrics of a daemon', programs, async (t) => {
  const daemon = await Daemon.start(t);
  for (const court_id of ['court-1', 'a "court"\\', 'Platz 3 – Süd'])
    t.equal((await daemon.post(event({ court_id }))).status, 202);
  const { stdout } = await daemon.command('metrics');
  const promtool = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [promtool.stdout, promtool.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      said += chunk;
    });
  }
  promtool.stdin.end(stdout);
  const [status] = await once(promtool, 'close');
  t.strictSame({ status, said }, { status: 0, said: '' });
});
