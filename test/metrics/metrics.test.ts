import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { gauges, type MetricFamily } from '../../src/metrics/family.ts';
import { render } from '../../src/metrics/render.ts';
import { sourceFamilies } from '../../src/metrics/sources.ts';
import type { SourceGauges } from '../../src/telemetry/source.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { ROOT, tableBelow } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { documented, parseMetrics } from '../harness/metrics.ts';
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

  t.test('requests count by status and code, and events by type and by what became of them', async (t) => {
    t.equal(value('courtd_requests_total{status="202",code="accepted"}'), 4);
    t.equal(value('courtd_requests_total{status="400",code="invalid_event"}'), 1);
    t.equal(value('courtd_requests_total{status="401",code="unauthorized"}'), 1);
    t.equal(value('courtd_requests_total{status="503",code="overloaded"}'), 0);
    const events = (type: string) =>
      ['accepted', 'duplicate', 'conflict'].map((result) =>
        value(`courtd_events_total{type="${type}",result="${result}"}`),
      );
    t.strictSame(events('BALL_HIT'), [2, 1, 1]);
    t.strictSame(events('BALL_SPEED'), [1, 0, 0]);
    t.strictSame(events('PLAYER_POSITION'), [0, 0, 0]);
  });

  t.test('commits, their syncs and what is in them', async (t) => {
    for (const name of ['courtd_commit_seconds', 'courtd_sync_seconds', 'courtd_commit_requests']) {
      t.equal(value(`${name}_count`), 3, name);
      t.equal(value(`${name}_bucket{le="+Inf"}`), 3, name);
    }
    t.equal(value('courtd_commit_requests_sum'), 3);
    t.equal(value('courtd_commit_requests_bucket{le="1"}'), 3);
    t.ok(value('courtd_commit_seconds_sum')! >= value('courtd_sync_seconds_sum')!);
    t.ok(value('courtd_sync_seconds_sum')! > 0);
  });

  t.test('each camera, its names escaped, and what is not known is not there', async (t) => {
    const camera = '{court_id="court-1",source="cam-1"}';
    t.equal(value(`courtd_source_events_total${camera}`), 2);
    t.equal(value(`courtd_source_events_total{court_id="a \\"court\\"\\\\",source="cam-1"}`), 1);
    t.equal(value(`courtd_source_silent${camera}`), 0);
    t.ok(Math.abs(value(`courtd_source_last_event_timestamp_seconds${camera}`)! - Date.now() / 1000) < 600);
    t.ok(value('courtd_up') === 1 && value('courtd_token_valid') === 1);
    t.equal(value('courtd_last_backup_timestamp_seconds'), undefined);
    t.equal(value('courtd_certificate_expiry_timestamp_seconds'), undefined);
  });

  t.test('no session, no event id and no token is in it', async (t) => {
    for (const secret of ['a-session', 'an-event', daemon.token]) t.notMatch(stdout, secret);
  });

  t.test('shipping: off, or how far it is, by what the shipper has noted', async (t) => {
    t.equal(value('courtd_ship_state{state="off"}'), 1);
    t.equal(value('courtd_ship_behind_events'), undefined);
    const epoch = (await daemon.command('ship', 'epoch')).stdout.trim();
    const note = { box: 'venue-7', url: 'nats://hq', epoch, state: 'refused', shipped_seq: 1 };
    const rest = { last_ack_at: null, error: null, running: true };
    fs.writeFileSync(path.join(data, 'courtd.ship'), JSON.stringify({ ...note, ...rest }));
    const { series } = parseMetrics((await daemon.command('metrics')).stdout);
    t.equal(series.get('courtd_ship_state{state="refused"}'), 1);
    t.equal(series.get('courtd_ship_shipped_seq'), 1);
    t.equal(series.get('courtd_ship_behind_events'), 2);
    t.ok(series.get('courtd_ship_behind_seconds')! >= 0);
  });

  t.test('the file says the same, for everybody to read, and goes with the daemon', async (t) => {
    const names = (text: string) => [...parseMetrics(text).types.keys()];
    t.strictSame(names(fs.readFileSync(file, 'utf8')), names(stdout));
    await daemon.stop();
    t.strictSame(fs.readdirSync(folder), ['data']);
  });

  t.test('while the daemon is down: what the database holds, and that it is', async (t) => {
    const down = await daemon.command('metrics');
    t.match(down, { status: 0, stderr: 'courtd: the daemon is not running' });
    const stopped = parseMetrics(down.stdout);
    t.equal(stopped.series.get('courtd_up'), 0);
    t.equal(stopped.series.get('courtd_stored_events'), 3);
    t.equal(stopped.series.get('courtd_stored_sessions'), 1);
    t.equal(stopped.series.get('courtd_ship_behind_events'), 2);
    t.ok(stopped.series.has('courtd_source_last_event_timestamp_seconds{court_id="court-1",source="cam-1"}'));
    const all = new Map([...running.types, ...stopped.types]);

    t.test('METRICS.md has each metric, with its type and its labels, and no other', async (t) => {
      // A clock is known after two minutes only.
      const clock = ['courtd_source_clock_offset_seconds', new Set(['court_id', 'source'])] as const;
      const labels = new Map([...running.labels, ...stopped.labels, clock]);
      const printed = [...all].map(([name, type]) => [name, type, [...(labels.get(name) ?? [])].sort()]);
      const rows = documented().map(({ name, type, labels }) => [name, type, [...labels].sort()]);
      t.strictSame(rows.sort(), printed.sort());
      for (const [name = '', , , meaning] of tableBelow('systemd/METRICS.md', '## Each metric'))
        t.ok(meaning, name);
    });

    t.test('names follow the conventions', async (t) => {
      for (const [name, type] of all) {
        t.match(name, /^courtd_[a-z_]+$/);
        t.equal(name.endsWith('_total'), type === 'counter', name);
      }
    });
  });

  t.test('without a database: a sentence, and nothing is made', async (t) => {
    fs.rmSync(data, { recursive: true });
    t.match(await daemon.command('metrics'), { status: 1, stdout: '', stderr: /^courtd: There is no / });
    t.notOk(fs.existsSync(data));
  });
});

const camera = (i: number, given: Partial<SourceGauges> = {}): SourceGauges => ({
  ...{
    source: `cam-${i}`,
    court_id: 'court-1',
    state: 'sending',
    quietS: i,
    clockOffsetS: 0,
    events: 1,
    oddEvents: 2,
  },
  ...given,
});

t.test('200 cameras have labels of their own, and the others are together', async (t) => {
  const many = Array.from({ length: 1_000 }, (_, i) => camera(i));
  many[500] = camera(500, { state: 'silent', clockOffsetS: -252, quietS: 3 });
  many[501] = camera(501, { state: 'unknown', clockOffsetS: null, quietS: null });
  const families = new Map(sourceFamilies(many, 10_000_000).map((family) => [family.name, family.samples]));
  for (const [name, samples] of families) t.equal(samples.length, 201, name);
  const other = (name: string) =>
    families.get(name)!.find(({ labels }) => labels.source === 'other' && labels.court_id === 'other')?.value;
  t.equal(other('courtd_source_events_total'), 800);
  t.equal(other('courtd_source_odd_payload_events_total'), 1_600);
  t.equal(other('courtd_source_silent'), 1);
  t.equal(other('courtd_source_clock_offset_seconds'), -252);
  t.equal(other('courtd_source_last_event_timestamp_seconds'), 9_997);
  const few = sourceFamilies([camera(1, { state: 'unknown', quietS: null, clockOffsetS: null })], 0);
  t.strictSame(
    few.map(({ samples }) => samples.length),
    [0, 0, 0, 1, 1],
  );
});

t.test('the same holds while the daemon is down', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(Array.from({ length: 250 }, (_, i) => event({ source: `camera-${i}` })));
  await daemon.stop();
  const { stdout } = await daemon.command('metrics');
  const series = [...parseMetrics(stdout).series.keys()].filter((name) => name.includes('source="'));
  t.equal(series.length, 201);
  t.ok(series.includes('courtd_source_last_event_timestamp_seconds{court_id="other",source="other"}'));
});

t.test('what counts in classes is printed cumulatively, and a family without samples has none', async (t) => {
  const families: MetricFamily[] = [
    { type: 'histogram', name: 'courtd_x_seconds', help: 'X.', bounds: [0.1, 1], counts: [1, 2, 3], sum: 9 },
    gauges('courtd_y', 'Y.', []),
  ];
  const lines = render(families)
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '');
  t.strictSame(lines, [
    'courtd_x_seconds_bucket{le="0.1"} 1',
    'courtd_x_seconds_bucket{le="1"} 3',
    'courtd_x_seconds_bucket{le="+Inf"} 6',
    'courtd_x_seconds_sum 9',
    'courtd_x_seconds_count 6',
  ]);
});

t.test(
  'the dashboard: every expression has metrics that there are, and a row stands for each court',
  async (t) => {
    interface Panel {
      readonly type: string;
      readonly title: string;
      readonly repeat?: string;
      readonly datasource?: { readonly uid: string };
      readonly gridPos: { readonly x: number; readonly w: number };
      readonly fieldConfig?: { readonly defaults: { readonly thresholds?: unknown } };
      readonly targets?: readonly { readonly expr: string; readonly instant?: boolean }[];
    }
    const text = fs.readFileSync(path.join(ROOT, 'systemd/grafana/courtd.json'), 'utf8');
    const dashboard = JSON.parse(text) as {
      panels: Panel[];
      templating: { list: { name: string; type: string; query: string | { query: string } }[] };
    };
    const known = new Map(documented().map((metric) => [metric.name, metric]));
    const { list } = dashboard.templating;
    t.strictSame(
      list.map(({ name }) => name),
      ['datasource', 'instance', 'court'],
    );
    t.equal(list[0]!.type, 'datasource');
    const rows = dashboard.panels.filter(({ type }) => type === 'row');
    t.match(rows.at(-1), { repeat: 'court', title: '$court' });
    const queries = list.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));
    const used = new Set<string>();
    for (const { title, type, datasource, targets = [], gridPos, fieldConfig } of dashboard.panels) {
      t.ok(gridPos.x + gridPos.w <= 24, title);
      if (type === 'row') continue;
      t.equal(datasource?.uid, '$' + '{datasource}', title);
      t.ok(targets.length > 0, title);
      for (const { expr } of targets) t.match(expr, 'instance="$instance"', title);
      if (type === 'stat') {
        // Asked for the range of the dashboard, it would show the last number of a box that has been gone for hours.
        t.ok(
          targets.every(({ instant }) => instant),
          title,
        );
        // Grafana's own make everything red from 80 on.
        t.ok(fieldConfig?.defaults.thresholds, title);
      }
      queries.push(...targets.map(({ expr }) => expr));
    }
    for (const query of queries) {
      // Grafana escapes the value of a variable that can have several, as in a regular expression.
      t.notMatch(query, 'court_id="$court"');
      const names = query.match(/courtd_\w+/g) ?? [];
      t.ok(names.length > 0, query);
      for (const name of names) {
        const metric = known.get(name) ?? known.get(name.replace(/_(bucket|sum|count)$/, ''));
        t.ok(metric, `${name} of ${query}`);
        t.equal(metric?.type === 'histogram', !known.has(name), name);
        used.add(metric?.name ?? '');
      }
      for (const [, label] of query.matchAll(/(\w+)(?:=|!=|=~)"/g)) {
        const all = new Set(['instance', ...[...known.values()].flatMap(({ labels }) => labels)]);
        t.ok(all.has(label!), `${label} of ${query}`);
      }
    }
    t.ok(used.size > 15, `${used.size} metrics are shown`);
  },
);

t.test('the alert rules: each has metrics that there are, says what to do, and is tested', async (t) => {
  const rules = fs.readFileSync(path.join(ROOT, 'systemd/courtd.rules.yml'), 'utf8');
  const tests = fs.readFileSync(path.join(ROOT, 'test/metrics/courtd.rules.test.yml'), 'utf8');
  const known = documented().map(({ name }) => name);
  const alerts = rules.split(/^ {6}- alert: /m).slice(1);
  t.ok(alerts.length > 15, `${alerts.length} alerts`);
  for (const alert of alerts) {
    const [name = ''] = alert.split('\n');
    t.match(alert, /^ {8}expr: [\s\S]+^ {8}labels: \{ severity: (critical|warning) \}$/m, name);
    t.match(alert, /^ {10}summary: "\{\{ \$labels\.instance \}\}: .+"\n {10}description: ".+"$/m, name);
    for (const [metric] of alert.slice(0, alert.indexOf('annotations')).matchAll(/courtd_\w+/g)) {
      t.ok(known.includes(metric.replace(/_bucket$/, '')), `${metric} of ${name}`);
    }
    t.match(tests, `alertname="${name}",alertstate="firing"`, `${name} is tested`);
  }
});
