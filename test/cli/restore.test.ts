import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { type Cleanup, courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const QUERIES = [
  ['token', 'list', '--json'],
  ['session', 'list', '--json'],
  ['session', 'show', 's-1'],
  ['session', 'show', 's-2', '--json'],
  ['event', 'show', 's-1', 'revised'],
  ['export', 's-1'],
  ['export', 's-1', '--format', 'ndjson'],
  ['export', 's-2', '--current'],
];

/** Everything that the queries say. */
async function answers(data: string): Promise<string[]> {
  const run = async (query: string[]) => (await courtd([...query, '--data', data])).stdout;
  return Promise.all(QUERIES.map(run));
}

async function counts(daemon: Daemon, body: unknown): Promise<unknown> {
  return (await daemon.post(body)).json();
}

/** A daemon with events of two sessions, revisions, a duplicate and a conflict; and its backup. */
const daemon = await Daemon.start(t);
const sent = [
  ...events(40, { session_id: 's-1' }),
  ...events(30, { session_id: 's-2', type: 'PLAYER_POSITION', frame: 12345678901234 }),
  event({ session_id: 's-1', event_id: 'revised' }),
  event({ session_id: 's-1', event_id: 'revised', revision: 1 }),
];
const counted = [
  await counts(daemon, sent),
  await counts(daemon, [{ ...sent[0], payload: { other: true } }, sent[1]]),
];
const file = path.join(temporaryFolder(t), 'backup.db');
const answered = await answers(daemon.data);
const made = await daemon.command('backup', file);
/** Its data directory as a kill -9 would leave it: the log is beside the database. */
const killed = path.join(temporaryFolder(t), 'killed');
// Stopped meanwhile: a checkpoint between the copies of two files would tear them apart.
daemon.child.kill('SIGSTOP');
fs.cpSync(daemon.data, killed, { recursive: true, filter: (name) => !name.endsWith('.sock') });
daemon.child.kill('SIGCONT');

/** @returns a copy of it. */
function copied(t: Cleanup): string {
  const data = path.join(temporaryFolder(t), 'data');
  fs.cpSync(killed, data, { recursive: true });
  return data;
}

/** The names in a data directory, and the bytes of the database. */
function snapshot(directory: string): unknown {
  return [names(directory), fs.readFileSync(path.join(directory, 'courtd.db')).toString('base64')];
}

/** The names in a data directory. */
function names(directory: string): string[] {
  return fs.readdirSync(directory).sort();
}

t.test(
  'a restored backup answers every query as the original did at that moment, and knows every event',
  async (t) => {
    t.match(
      [...counted, made],
      [{ accepted: 72, duplicates: 0 }, { accepted: 0, duplicates: 2 }, { status: 0 }],
    );
    const bytes = fs.readFileSync(file);
    const later = events(50, { session_id: 's-1' });
    t.match(await counts(daemon, later), { accepted: 50 });
    await daemon.command('token', 'rotate', '--grace', '0');
    await daemon.stop('SIGKILL');
    t.ok(names(daemon.data).includes('courtd.db-wal'), 'killed: a log is beside the database');

    const { status, stdout, stderr } = await daemon.command('restore', file);
    t.strictSame([status, stdout], [0, '']);
    const kept = /The replaced database is kept as (.*): remove it/.exec(stderr)?.[1] ?? '';
    t.match(
      stderr,
      /^The replaced [^\n]+\nRestored .*backup\.db: 72 events of 2 sessions, the newest received at 20[^\n]+Z\.\n/,
    );
    t.strictSame(await answers(daemon.data), answered);
    t.ok(fs.readFileSync(file).equals(bytes), 'the backup is as it was');

    const again = await Daemon.run(t, daemon.data, daemon.token);
    t.strictSame(await counts(again, sent), { accepted: 0, duplicates: 72 }, 'what is in it is known');
    t.strictSame(await counts(again, later), { accepted: 50, duplicates: 0 }, 'what came after it is not');
    await again.stop();

    const elsewhere = path.join(temporaryFolder(t), 'data');
    t.equal(
      (await courtd(['restore', kept, '--data', elsewhere])).status,
      0,
      'the kept one can be restored, too',
    );
    const lines = (await courtd(['export', 's-1', '--format', 'ndjson', '--data', elsewhere])).stdout;
    t.equal(lines.split('\n').length - 1, 42 + 50, 'and has all that was acknowledged');
  },
);

t.test(
  'numbering goes on where it was in the backup, also when its last events had been deleted',
  async (t) => {
    const data = copied(t);
    const db = new Database(path.join(data, 'courtd.db'));
    db.exec(`DELETE FROM event WHERE seq > 50; UPDATE pruned SET up_to_seq = 72; UPDATE flushed SET counted_up_to = 72;
      UPDATE session SET events = (SELECT count(*) FROM event WHERE session = session.id)`);
    db.close();
    const file = path.join(temporaryFolder(t), 'backup.db');
    t.equal((await courtd(['backup', file, '--data', data])).status, 0);
    t.equal((await courtd(['restore', file, '--data', data])).status, 0);
    const again = await Daemon.run(t, data, daemon.token);
    await again.post(event());
    const copy = new Database(path.join(data, 'courtd.db'), { readonly: true });
    t.teardown(() => copy.close());
    t.ok((copy.prepare('SELECT max(seq) FROM event').pluck().get() as number) > 72);
  },
);

t.test('into an empty place, of a replaced box: the daemon starts and takes events', async (t) => {
  const data = path.join(temporaryFolder(t), 'new', 'data');
  const { stdout, status } = await courtd(['restore', file, '--json', '--data', data]);
  t.equal(status, 0);
  t.match(JSON.parse(stdout), { restored: file, events: 72, sessions: 2, replaced_kept_as: null });
  t.equal(fs.statSync(path.join(data, 'courtd.db')).mode & 0o777, 0o660);
  const again = await Daemon.run(t, data, daemon.token);
  t.strictSame(await counts(again, sent), { accepted: 0, duplicates: 72 });
});

t.test(
  'refused while the daemon runs, while another program reads, and for anything but a whole backup: nothing is changed',
  async (t) => {
    const folder = temporaryFolder(t);
    const running = await Daemon.run(t, copied(t), daemon.token);
    const refused = async (name: string, sentence: RegExp) => {
      const before = snapshot(running.data);
      const { status, stdout, stderr } = await running.command('restore', name);
      t.strictSame({ status, stdout }, { status: 1, stdout: '' }, name);
      t.match(stderr, /^courtd: [^\n]+\n$/);
      t.match(stderr, sentence);
      t.strictSame(snapshot(running.data), before);
    };
    await refused(file, /Another "courtd serve" uses .*: stop it first/);
    await running.stop();
    const put = (name: string, content: Buffer | string) => {
      fs.writeFileSync(path.join(folder, name), content);
      return path.join(folder, name);
    };
    const whole = fs.readFileSync(file);
    await refused(path.join(folder, 'none.db'), /Cannot read .*none\.db: no such file or directory\./);
    await refused(folder, / is a directory: name a backup in it\.$/m);
    await refused(put('text', 'no database'), /text is not a courtd database: nothing was changed/);
    await refused(put('empty', ''), /empty is not a courtd database/);
    await refused(
      put('cut', whole.subarray(0, whole.length / 2)),
      /cut is damaged.*: nothing was changed\. Restore another/,
    );
    const flipped = Buffer.from(whole);
    flipped.fill(0xa5, 4096 * 5, 4096 * 6);
    await refused(put('flipped', flipped), /flipped is damaged/);
    const newer = Buffer.from(whole);
    newer.writeUInt32BE(99, 60);
    await refused(put('newer', newer), /newer was written by a newer courtd \(layout 99/);
    await refused(path.join(running.data, 'courtd.db'), /courtd\.db is the database itself/);
    const db = new Database(path.join(running.data, 'courtd.db'), { readonly: true });
    t.teardown(() => db.close());
    db.exec('BEGIN; SELECT * FROM session');
    const { status, stderr } = await running.command('restore', file);
    t.equal(status, 1);
    t.match(stderr, /is locked by another program: try again when it is done/);
  },
);

t.test(
  'a damaged database with a log is kept as it is, and its log is never beside the restored one',
  async (t) => {
    const data = copied(t);
    const own = path.join(data, 'courtd.db');
    fs.writeFileSync(own, fs.readFileSync(own).fill(0xa5));
    const log = fs.readFileSync(`${own}-wal`);
    t.ok(log.length > 0);
    const { stdout } = await courtd(['restore', file, '--json', '--data', data]);
    const { replaced_kept_as } = JSON.parse(stdout);
    t.ok(fs.readFileSync(`${replaced_kept_as}-wal`).equals(log));
    t.ok(fs.readFileSync(replaced_kept_as).every((byte) => byte === 0xa5));
    t.strictSame(
      names(data).filter((name) => /^courtd\.db(-.*)?$/.test(name)),
      ['courtd.db'],
    );
    const again = await Daemon.run(t, data, daemon.token);
    t.strictSame(await counts(again, sent), { accepted: 0, duplicates: 72 });
  },
);
