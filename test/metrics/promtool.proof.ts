import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { ROOT } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { parseMetrics } from '../harness/metrics.ts';
import { missingPrograms } from '../harness/needs.ts';

/** What Prometheus itself says of the metrics and the rules, and node_exporter serving the file. */

const missing = missingPrograms({
  promtool: 'prometheus',
  'prometheus-node-exporter': 'prometheus-node-exporter',
});
const programs = { skip: missing ?? false };
const RULES = path.join(ROOT, 'systemd/courtd.rules.yml');
const TESTS = path.join(ROOT, 'test/metrics/courtd.rules.test.yml');
const LOOK_MS = 100;

t.test(
  'promtool has nothing to say against the rules, and each alert fires when it should',
  programs,
  async (t) => {
    t.match(await run('promtool', ['check', 'rules', RULES]), { status: 0, stdout: /SUCCESS: \d rules/ });
    const tested = await run('promtool', ['test', 'rules', TESTS]);
    t.equal(tested.status, 0, tested.stdout + tested.stderr);
  },
);

t.test('the metrics of a daemon, as promtool and node_exporter read them', programs, async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'metrics.prom');
  const data = path.join(folder, 'data');
  const daemon = await Daemon.start(t, ['--run-dir', folder], data);
  for (const court of ['court-1', 'a "court"\\', 'Platz 3 – Süd']) {
    t.equal((await daemon.post(event({ court_id: court }))).status, 202);
  }
  const { stdout } = await daemon.command('metrics');

  t.test('promtool finds nothing wrong', (t) => checkMetrics(t, stdout));

  t.test('node_exporter serves the file through the link of the example', async (t) => {
    const served = path.join(folder, 'node-exporter');
    fs.mkdirSync(served);
    const example = fs.readFileSync(path.join(ROOT, 'systemd/examples/courtd-node-exporter.conf'), 'utf8');
    const [, link, target] = /^L\+ (\S+) - - - - (\S+)$/m.exec(example) ?? [];
    t.equal(target, '/run/courtd/metrics.prom');
    fs.symlinkSync(file, path.join(served, path.basename(link!)));
    const text = await scraped(t, served);
    t.match(text, /^node_textfile_scrape_error 0$/m);
    for (const [name, type] of parseMetrics(fs.readFileSync(file, 'utf8')).types) {
      const hasSample = new RegExp(`^${name}(_count)?[{ ]`, 'm').test(fs.readFileSync(file, 'utf8'));
      if (hasSample) t.match(text, `# TYPE ${name} ${type}\n`, name);
    }
    t.match(text, /^courtd_build_info\{/m);
  });
});

async function checkMetrics(t: Test, text: string): Promise<void> {
  const promtool = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [promtool.stdout, promtool.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      said += chunk;
    });
  }
  promtool.stdin.end(text);
  const [status] = await once(promtool, 'close');
  t.strictSame({ status, said }, { status: 0, said: '' });
}

/** node_exporter does not say which port it took, so it is given one that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** @returns what a node_exporter of our own serves of a folder; one that lost its port to somebody else is started again. */
async function scraped(t: Test, folder: string): Promise<string> {
  for (;;) {
    const port = await freePort();
    const collectors = ['--collector.disable-defaults', '--collector.textfile'];
    const where = [`--collector.textfile.directory=${folder}`, `--web.listen-address=127.0.0.1:${port}`];
    const exporter = spawn('prometheus-node-exporter', [...collectors, ...where], { stdio: 'ignore' });
    const ended = once(exporter, 'exit');
    t.teardown(() => {
      exporter.kill('SIGKILL');
      return ended;
    });
    while (exporter.exitCode === null) {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
      const text = (await answer?.text()) ?? '';
      if (text.includes('node_textfile_scrape_error')) return text;
      await sleep(LOOK_MS);
    }
  }
}
