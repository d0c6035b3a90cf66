import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { SOURCES_KNOWN } from '../../src/base/limits.ts';
import { cut } from '../../src/cli/terminal/style.ts';
import type { Status } from '../../src/health/boxStatus.ts';
import { courtd, Daemon, run } from '../harness/daemon.ts';
import { damagePages } from '../harness/damage.ts';
import { ROOT } from '../harness/documents.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** `courtd status`, as a person and a program see it. */

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
  'a camera that sends what it kept for an hour has no wrong clock; sizes are those of the files',
  async (t) => {
    const daemon = await Daemon.start(t);
    const kept = Array.from({ length: 400 }, (_, i) => event({ source: 'kept', eot: ago(3_600 - i * 5) }));
    await daemon.post(kept);
    const { exit, status } = await statusOf(t, daemon.data);
    t.strictSame([exit, codes(status)], [0, []]);
    t.match(status.sources, [{ source: 'kept', clock_offset_s: null }]);
    const sizeOf = (file: string) => fs.statSync(path.join(daemon.data, file)).size;
    t.equal(status.store.bytes, sizeOf('courtd.db') + sizeOf('courtd.db-wal'));
    t.equal(status.store.wal_bytes, sizeOf('courtd.db-wal'));
  },
);

t.test(
  'whatever names are sent, a bounded number of sources is known; the socket ends with the daemon',
  async (t) => {
    const daemon = await Daemon.start(t);
    for (const batch of [0, 1, 2])
      await daemon.post(Array.from({ length: 500 }, (_, i) => event({ source: `made-up-${batch}-${i}` })));
    t.equal((await statusOf(t, daemon.data)).status.sources.length, SOURCES_KNOWN);
    await daemon.stop();
    t.notOk(fs.existsSync(path.join(daemon.data, 'control.sock')));
  },
);

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
  for (let i = 0; i < 5; i++) await post();
  t.strictSame(codes((await statusOf(t, daemon.data)).status), [], 'somebody has looked at the port');
  await post();
  t.strictSame(codes((await statusOf(t, daemon.data)).status), ['token_refused']);
  await daemon.post([]);
  t.strictSame(codes((await statusOf(t, daemon.data)).status), []);
});

t.test('status names the cameras with an old token on the last day of its grace', async (t) => {
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

/** Starts a daemon whose database then has damaged pages of a table or an index. @param where of its leaves, in their order. */
async function damaged(t: Test, name: string, where: (leaves: number[]) => number[]): Promise<Daemon> {
  const first = await Daemon.start(t);
  t.equal((await first.post([...events(400), ...events(20, { revision: 1 })])).status, 202);
  await first.stop();
  // A start reads the events whose keys are not in the file: the disk fails behind its back.
  const daemon = await Daemon.run(t, first.data, first.token);
  damagePages(first.data, name, where);
  return daemon;
}

async function lookAt(t: Test, data: string, exit = 1): Promise<Status> {
  const { status, stdout } = await courtd(['status', '--json', '--data', data]);
  t.equal(status, exit);
  return JSON.parse(stdout);
}

/** Both say so, and the cameras are shown. */
async function checkTold(t: Test, { data }: Daemon): Promise<Status> {
  const told = await lookAt(t, data);
  t.equal(told.state, 'failing');
  t.match(
    told.problems.filter(({ code }) => code === 'damage'),
    [{ level: 'fail', message: /^Part of the database is damaged/ }],
  );
  t.match(
    told.sources.find(({ source }) => source === 'camera-9'),
    { court_id: 'court-2', events_last_day: 1 },
  );
  const screen = await courtd(['status', '--data', data]);
  t.equal(screen.status, 1);
  t.match(screen.stdout, /!! {2}Part of the database is damaged[\s\S]*court-2 +camera-9/);
  return told;
}

t.test('what only a camera has come across', async (t) => {
  const daemon = await damaged(t, 'conflict_copy_turn', (leaves) => leaves);
  const sent = event({ court_id: 'court-2', source: 'camera-9' });
  t.equal((await daemon.post(sent)).status, 202);
  t.strictSame((await lookAt(t, daemon.data, 0)).problems, []);
  t.equal((await daemon.post({ ...sent, confidence: 0.5 })).status, 503);
  await checkTold(t, daemon);
});

t.test('the tokens, once it runs: what is not known is null', async (t) => {
  const daemon = await damaged(t, 'event', () => []);
  t.equal((await daemon.post(event({ court_id: 'court-2', source: 'camera-9' }))).status, 202);
  const db = new Database(path.join(daemon.data, 'courtd.db'));
  db.exec('UPDATE token SET created_ms = 9000000000000000');
  db.close();
  t.match(await checkTold(t, daemon), { store: { events: 421 }, tokens: { active: null, retiring: null } });
  const list = await courtd(['token', 'list', '--data', daemon.data]);
  t.match(list, { status: 1, stderr: /^courtd: The database in \S+ is damaged\. / });
});

t.test('names in wide characters keep the columns of status', async (t) => {
  const daemon = await Daemon.start(t);
  // Six columns each in a terminal.
  const names = ['コート', '준결승', 'court1', 'e\u0301cran1'];
  for (const name of names)
    await daemon.post(event({ court_id: name, session_id: name, eot: new Date().toISOString() }));
  for (const args of [['status'], ['session', 'list']]) {
    const { stdout } = await daemon.command(...args);
    const rests = names.map((name) => {
      const line = stdout.split('\n').find((line) => line.startsWith(name));
      return /^ +\S/.exec(line?.slice(name.length) ?? '')?.[0].length;
    });
    t.strictSame(new Set(rests), new Set([rests[2]!]), args.join(' '));
  }
  t.equal(cut('コート一号', 10), 'コート一号');
  t.equal(cut('コート一号', 9), 'コート一~');
  t.equal(cut('コート一号', 6), 'コー~');
});
