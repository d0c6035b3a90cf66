import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import type { Status } from '../../src/health/boxStatus.ts';
import { type MetricSources, metricsText } from '../../src/metrics/prometheusText.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { ROOT } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { parseMetrics } from '../harness/metrics.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** One box for the file: a daemon that has been sent everything, and what it and its database then say. */
const of = { session_id: 'a-session', court_id: 'court-1', source: 'cam-1' };

t.test('metrics of a box', async (t) => {
  const folder = temporaryFolder(t);
  const data = path.join(folder, 'data');
  const file = path.join(folder, 'metrics.prom');
  const daemon = await Daemon.start(t, ['--run-dir', folder], data);
  const first = event({ ...of, event_id: 'an-event', type: 'BALL_HIT', payload: {} });
  await daemon.post([first, event({ ...of, type: 'BALL_SPEED' })]);
  await daemon.post([first, event({ ...of, court_id: 'a "court"\\', type: 'BALL_HIT' })]);
  await daemon.post({ ...first, confidence: 0.1 });
  await daemon.post([]);
  await daemon.post({});
  await daemon.post('{', { Authorization: 'Bearer nothing' });
  const { status, stdout, stderr } = await daemon.command('metrics');
  t.strictSame({ status, stderr }, { status: 0, stderr: '' });
  const running = parseMetrics(stdout);
  const value = (series: string) => running.series.get(series);

  t.test('requests count by status and code, and events by what became of them', async (t) => {
    t.equal(value('courtd_requests_total{status="202",code="accepted"}'), 4);
    t.equal(value('courtd_requests_total{status="400",code="invalid_event"}'), 1);
    t.equal(value('courtd_requests_total{status="401",code="unauthorized"}'), 1);
    t.equal(value('courtd_requests_total{status="503",code="overloaded"}'), 0);
    const events = (result: string) => value(`courtd_events_total{result="${result}"}`);
    t.strictSame(['accepted', 'duplicate', 'conflict'].map(events), [3, 1, 1]);
  });

  t.test('commits, their syncs and what is in them', async (t) => {
    for (const name of ['courtd_commit_seconds', 'courtd_sync_seconds', 'courtd_commit_requests'])
      t.equal(value(`${name}_count`), 3, name);
    t.equal(value('courtd_commit_requests_sum'), 3);
    t.ok(value('courtd_commit_seconds_sum')! >= value('courtd_sync_seconds_sum')!);
    t.ok(value('courtd_sync_seconds_sum')! > 0);
  });

  t.test('each camera, its names escaped, and what is not known is not there', async (t) => {
    const camera = '{court_id="court-1",source="cam-1"}';
    t.equal(value(`courtd_source_events_last_minute${camera}`), 2);
    t.equal(value(`courtd_source_events_last_minute{court_id="a \\"court\\"\\\\",source="cam-1"}`), 1);
    t.ok(Math.abs(value(`courtd_source_last_event_timestamp_seconds${camera}`)! - Date.now() / 1000) < 600);
    t.equal(value('courtd_last_backup_timestamp_seconds'), undefined);
  });

  t.test('no session, no event id and no token is in it', async (t) => {
    for (const secret of ['a-session', 'an-event', daemon.token]) t.notMatch(stdout, secret);
  });

  t.test('each problem of status is counted by its code and level', async (t) => {
    const { problems } = JSON.parse((await daemon.command('status', '--json')).stdout) as Status;
    t.ok(problems.length > 0);
    for (const { code, level } of problems)
      t.ok(value(`courtd_problem{code="${code}",level="${level}"}`)! >= 1, code);
  });

  t.test('metrics.prom has the same metrics, everybody may read it, and a stop removes it', async (t) => {
    const names = (text: string) => [...parseMetrics(text).types.keys()];
    t.strictSame(names(fs.readFileSync(file, 'utf8')), names(stdout));
    await daemon.stop();
    t.strictSame(fs.readdirSync(folder), ['data']);
  });

  t.test('while the daemon is down there are none, and it is said how to start it', async (t) => {
    t.match(await daemon.command('metrics'), { status: 1, stdout: '', stderr: 'systemctl start courtd' });
  });

  t.test('without a database: a sentence, and nothing is made', async (t) => {
    fs.rmSync(data, { recursive: true });
    t.match(await daemon.command('metrics'), { status: 1, stdout: '', stderr: /^courtd: There is no / });
    t.notOk(fs.existsSync(data));
  });
});

t.test('200 cameras have series of their own, and no more', (t) => {
  const source = {
    court_id: 'court-1',
    last_received_at: null,
    clock_offset_s: null,
    events_last_minute: 1,
  };
  const sources = Array.from({ length: 250 }, (_, i) => ({ ...source, source: `cam-${i}` }));
  const totals = { commits: 0, requests: 0, seconds: 0, syncSeconds: 0 };
  const of = {
    store: { writer: { appender: { totals }, queued: 0 } },
    telemetry: { totals: { requests: 0 }, refusals: { byCode: {} } },
  };
  const store = { events: null, sessions: null, bytes: 0, wal_bytes: 0, free_bytes: 0, last_backup_at: null };
  const status = { problems: [], sources, store, ship: null, daemon: { version: '1', started_at: null } };
  const { series } = parseMetrics(metricsText(of as unknown as MetricSources, status as unknown as Status));
  const names = [...series.keys()].filter((name) => name.startsWith('courtd_source_events_last_minute'));
  t.equal(names.length, 200);
  t.end();
});

t.test('each alert rule names metrics that exist, and is tested', async (t) => {
  const rules = fs.readFileSync(path.join(ROOT, 'systemd/courtd.rules.yml'), 'utf8');
  const tests = fs.readFileSync(path.join(ROOT, 'test/metrics/courtd.rules.test.yml'), 'utf8');
  const code = fs.readFileSync(path.join(ROOT, 'src/metrics/prometheusText.ts'), 'utf8');
  const alerts = rules.split(/^ {6}- alert: /m).slice(1);
  t.ok(alerts.length > 3, `${alerts.length} alerts`);
  for (const alert of alerts) {
    const [name = ''] = alert.split('\n');
    for (const [metric] of alert.matchAll(/courtd_\w+/g))
      t.ok(code.includes(`'${metric}'`), `${metric} of ${name}`);
    t.ok(tests.includes(`alertname="${name}"`), `${name} is tested`);
  }
});
