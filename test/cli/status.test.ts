import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import t, { type Test } from 'tap';
import { SOURCES_KNOWN } from '../../src/base/limits.ts';
import type { Status } from '../../src/health/status.ts';
import { courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { ROOT } from '../harness/documents.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { serveAgain } from '../harness/servingAgain.ts';
import { StatusSchema } from './statusSchema.ts';

runInProcess();
serveAgain();

/** `courtd status`, as a person and a program see it. */

const compiled = TypeCompiler.Compile(StatusSchema);

/** Runs it, and holds its shape. */
async function statusOf(t: Test, data: string): Promise<{ exit: number | null; status: Status }> {
  const { status: exit, stdout, stderr } = await courtd(['status', '--json', '--data', data]);
  t.equal(stderr, '');
  const status = JSON.parse(stdout) as Status;
  t.strictSame([...compiled.Errors(status)], [], 'it has the shape of the contract');
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

t.test('a box whose cameras send is well: exit status 0', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = events(3, { eot: ago(0) });
  await daemon.post([...sent, event({ type: 'BALL_HIT', eot: ago(0) })]);
  await daemon.post(sent);
  await daemon.post(event({ court_id: 'court-2', source: 'camera-9', eot: ago(0) }));
  const { exit, status } = await statusOf(t, daemon.data);
  t.equal(exit, 0);
  t.match(status, {
    state: 'ok',
    problems: [],
    daemon: { running: true, version: /^\d+\.\d+/, listening: `127.0.0.1:${daemon.port}` },
    store: { events: 5, sessions: 1, days_left: null, last_backup_at: null },
    copy: null,
    tokens: { active: 1, retiring: 0 },
    rates: {
      events_last_minute: 5,
      events_last_hour: 5,
      events_last_day: 5,
      requests_last_minute: 3,
      refused_last_minute: 0,
    },
    ship: null,
  });
  const sizeOf = (file: string) => fs.statSync(path.join(daemon.data, file)).size;
  t.equal(status.store.bytes, sizeOf('courtd.db') + sizeOf('courtd.db-wal'));
  t.equal(status.store.wal_bytes, sizeOf('courtd.db-wal'));
  t.match(status.sources, [
    {
      source: 'camera-1',
      court_id: 'court-1',
      client: '127.0.0.1',
      state: 'sending',
      events_last_minute: 4,
      events_last_day: 4,
      duplicates: 3,
      conflicts: 0,
      refused_last_day: 0,
    },
    { source: 'camera-9', court_id: 'court-2', state: 'sending', events_last_minute: 1 },
  ]);

  await daemon.post(
    Array.from({ length: 400 }, (_, i) => event({ source: 'kept', eot: ago(3_600 - i * 5) })),
  );
  const { status: later } = await statusOf(t, daemon.data);
  t.strictSame(codes(later), [], 'a camera that sends what it has kept for an hour has no wrong clock');
  t.match(
    later.sources.find(({ source }) => source === 'kept'),
    { clock_offset_s: null },
  );
});

t.test('a box without a database: exit status 3, and the sentence of every command', async (t) => {
  const folder = temporaryFolder(t);
  for (const data of [folder, path.join(folder, 'none')]) {
    const { status, stdout, stderr } = await courtd(['status', '--json', '--data', data]);
    t.equal(status, 3);
    t.equal(stdout, '');
    t.equal(stderr, (await courtd(['session', 'list', '--data', data])).stderr);
  }
});

t.test('while the daemon is down, and after it was killed, the database tells what it can', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(event({ eot: ago(0) }));
  await daemon.stop('SIGKILL');
  t.ok(fs.existsSync(path.join(daemon.data, 'control.sock')), 'its socket is left');
  const { exit, status } = await statusOf(t, daemon.data);
  t.equal(exit, 1);
  t.equal(status.state, 'stopped');
  t.strictSame(codes(status), ['daemon_stopped']);
  t.match(status.daemon, { running: false, version: null, started_at: null, listening: null, tls: null });
  t.match(status.store, { events: 1, sessions: 1 });
  t.match(status.rates, { events_last_minute: null });
  t.strictSame([status.sources, status.tokens], [[], { active: null, retiring: null }]);

  const again = await Daemon.run(t, daemon.data, daemon.token);
  const { status: started } = await statusOf(t, daemon.data);
  t.equal(started.state, 'ok');
  for (const batch of [0, 1, 2]) {
    const sent = Array.from({ length: 500 }, (_, i) =>
      event({ eot: ago(0), source: `made-up-${batch}-${i}` }),
    );
    t.equal((await again.post(sent)).status, 202);
  }
  t.equal((await statusOf(t, daemon.data)).status.sources.length, SOURCES_KNOWN, 'whatever names are sent');
  await again.stop();
  t.notOk(fs.existsSync(path.join(daemon.data, 'control.sock')), 'it takes its socket away');
});

t.test('a daemon that does not answer hangs; if control.sock is removed, it makes it again', async (t) => {
  const daemon = await Daemon.start(t);
  const socket = path.join(daemon.data, 'control.sock');
  const made = daemon.logged(/control.sock was removed/);
  fs.rmSync(socket);
  const { exit, status } = await statusOf(t, daemon.data);
  t.equal(exit, 1);
  t.match(status, { state: 'failing', daemon: { running: true }, problems: [{ code: 'daemon_hangs' }] });
  await made;
  t.equal((await statusOf(t, daemon.data)).exit, 0);
});

t.test('a first event, a test by hand and what was kept say nothing about a clock', async (t) => {
  const daemon = await Daemon.start(t);
  for (const seconds of [0, -60, 252, 253 * 86_400]) {
    const sent = Array.from({ length: 25 }, () => event({ source: `by ${seconds} s`, eot: ago(seconds) }));
    await daemon.post(sent);
    await daemon.post(sent[0]);
  }
  const { exit, status } = await statusOf(t, daemon.data);
  t.equal(exit, 0);
  t.strictSame(codes(status), []);
  t.strictSame(
    status.sources.map(({ clock_offset_s }) => clock_offset_s),
    [null, null, null, null],
  );
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

t.test('a 202 of the same address ends what its refusals for want of a token had to say', async (t) => {
  const daemon = await Daemon.start(t);
  const post = () => daemon.post(event(), { Authorization: 'Bearer old' });
  for (let i = 0; i < 2; i++) await post();
  t.strictSame(codes((await statusOf(t, daemon.data)).status), [], 'somebody has looked at the port');
  await post();
  t.strictSame(codes((await statusOf(t, daemon.data)).status), ['token_refused']);
  await daemon.post([]);
  t.strictSame(codes((await statusOf(t, daemon.data)).status), []);
});

t.test('who still uses an old token is said on the last day of its grace', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(event({ eot: ago(0) }));
  await daemon.command('token', 'rotate', '--grace', '2d');
  await daemon.post([]);
  t.strictSame(codes((await statusOf(t, daemon.data)).status), []);
  const { stdout } = await daemon.command('token', 'rotate', '--grace', '23h');
  await daemon.post([]);
  t.match((await statusOf(t, daemon.data)).status.problems, [
    { code: 'old_token', message: /^Token 1 ends in 2[23] h.* 127\.0\.0\.1 \(camera-1\) / },
  ]);
  await daemon.post([], { Authorization: `Bearer ${stdout.trim()}` });
  const { status } = await statusOf(t, daemon.data);
  t.strictSame(codes(status), ['old_token'], 'for two minutes it may be that of another camera there');
});

t.test('odd payload fields: the camera, the fields and what they held are named', async (t) => {
  const daemon = await Daemon.start(t);
  const odd = (source: string, payload: object, type = 'BALL_SPEED') =>
    daemon.post(event({ source, court_id: 'court-3', type, payload, eot: ago(0) }));
  t.equal((await odd('court-3-cam', { kmh: '91.5' })).status, 202);
  await odd('court-3-cam', { kmh: '92', player_id: 7 });
  await odd('plain', { kmh: 91.5, player_id: null, spin: 'top' });
  const refused = await odd('refused', { kmh: 'fast', is_in: 1 }, 'BALL_BOUNCE');
  t.equal(refused.status, 400, 'what is refused is told as that');
  const { exit, status } = await statusOf(t, daemon.data);
  t.equal(exit, 1);
  t.equal(status.state, 'attention');
  t.strictSame(codes(status), ['refused', 'odd_payload']);
  t.match(status.problems[1], {
    level: 'warn',
    message: 'court-3-cam on court-3 sends kmh as text, player_id as a number.',
  });
});

t.test('refusals: the message names the source, or the address and who is known there', async (t) => {
  const daemon = await Daemon.start(t);
  // One name on several courts is one name.
  await daemon.post(
    ['court-1', 'court-2', 'court-3'].map((court_id) => event({ source: 'good', court_id, eot: ago(0) })),
  );
  await daemon.post(event({ source: 'bad', confidence: 7 }));
  for (let i = 0; i < 3; i++) await daemon.post(event(), { Authorization: 'Bearer wrong' });
  const { exit, status } = await statusOf(t, daemon.data);
  t.equal(exit, 1);
  t.strictSame(codes(status).sort(), ['refused', 'token_refused']);
  const of = (code: string) => status.problems.find((problem) => problem.code === code)!.message;
  t.match(of('refused'), /^bad on court-1: 1 request .*invalid_event/);
  t.match(of('token_refused'), /^127\.0\.0\.1 \((bad, )?good\) sent 3 requests/);
  t.match(
    status.sources.find(({ source }) => source === 'bad'),
    {
      state: 'unknown',
      refused_last_day: 1,
      events_last_day: null,
    },
  );
  t.match(status.rates, { requests_last_minute: 5, refused_last_minute: 4 });

  await daemon.command('token', 'revoke', '1');
  const { exit: failed, status: without } = await statusOf(t, daemon.data);
  t.equal(failed, 1);
  t.match(without, { state: 'failing', tokens: { active: 0 } }, 'a box without a token is failing');
  t.match(
    without.problems.find(({ code }) => code === 'no_token'),
    { level: 'fail' },
  );
});

t.test(
  'a full disk on a box without old events: no prune is advised that would delete nothing',
  async (t) => {
    const daemon = await Daemon.start(t, ['--min-free', '900000GiB']);
    await daemon.post(event({ eot: ago(0) }));
    const { status } = await statusOf(t, daemon.data);
    const low = status.problems.find(({ code }) => code === 'disk_low');
    t.match(low?.advice, /^The events take only .* du -xh \//);
  },
);

t.test('--brief is one line with the exit status of a Nagios plugin, whatever there is', async (t) => {
  const brief = async (...data: readonly string[]) => {
    const { status, stdout, stderr } = await courtd(['status', '--brief', ...data]);
    t.equal(stderr, '');
    t.match(stdout, /^[^|\n]+\n$/, 'what follows a "|" are figures for Nagios');
    return [status, stdout.trimEnd()];
  };
  const daemon = await Daemon.start(t);
  const at = ['--data', daemon.data];
  await daemon.post(events(2, { eot: ago(0) }));
  t.strictSame(await brief(...at), [0, 'OK - 1 source, 2 events in the last minute.']);
  await daemon.post({ ...event({ source: 'a|b' }), confidence: 2 });
  const [exit, line] = await brief(...at);
  t.equal(exit, 1);
  t.match(line, /^WARNING - a\/b on court-1: 1 request /);
  await courtd(['token', 'revoke', '1', ...at]);
  t.match(await brief(...at), [2, /^CRITICAL - There is no valid token.* And \d more\.$/]);
  await daemon.stop();
  t.match(await brief(...at), [3, /^UNKNOWN - The daemon does not run.*\.$/]);
  t.match(await brief('--data', path.join(temporaryFolder(t), 'none')), [
    3,
    /^UNKNOWN - There is no courtd /,
  ]);
});

t.test('a daemon of an older version is to be restarted, and is no bug', async (t) => {
  const { data } = stoppedBox(t);
  const server = http.createServer((_req, res) => res.end('{"version":"0.0.9","sources":[]}'));
  server.listen(path.join(data, 'control.sock'));
  await once(server, 'listening');
  t.teardown(() => server.close());
  const told = /runs an older version, 0\.0\.9/;
  t.match(await courtd(['status', '--data', data]), { status: 1, stderr: told });
  t.match(await courtd(['status', '--brief', '--data', data]), { status: 3, stdout: told });
});
