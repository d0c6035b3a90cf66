import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { type Cleanup, courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

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
const made = await daemon.command('backup', file);
/** Its data directory as a kill -9 would leave it: the WAL is next to the database. */
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

/** The names in a data directory. */
function names(directory: string): string[] {
  return fs.readdirSync(directory).sort();
}

t.test('a restored backup knows every event in it, and none that came after it', async (t) => {
  t.match(
    [...counted, made],
    [{ accepted: 72, duplicates: 0 }, { accepted: 0, duplicates: 2 }, { status: 0 }],
  );
  const bytes = fs.readFileSync(file);
  const later = events(50, { session_id: 's-1' });
  t.match(await counts(daemon, later), { accepted: 50 });
  await daemon.stop('SIGKILL');
  const { stderr } = await daemon.command('restore', file);
  const kept = /The replaced database is kept as (.*): remove it/.exec(stderr)?.[1] ?? '';
  t.ok(fs.readFileSync(file).equals(bytes), 'the backup is as it was');
  const again = await Daemon.run(t, daemon.data, daemon.token);
  t.strictSame(await counts(again, sent), { accepted: 0, duplicates: 72 }, 'what is in it is known');
  t.strictSame(await counts(again, later), { accepted: 50, duplicates: 0 }, 'what came after it is not');
  await again.stop();
  const elsewhere = path.join(temporaryFolder(t), 'data');
  t.equal((await courtd(['restore', kept, '--data', elsewhere])).status, 0, 'and so can the kept one');
  const lines = (await courtd(['export', 's-1', '--format', 'ndjson', '--data', elsewhere])).stdout;
  t.equal(lines.split('\n').length - 1, 42 + 50, 'which has all that was acknowledged');
});

t.test(
  'a damaged database with a log is kept as it is, and its log is never beside the restored one',
  async (t) => {
    const data = copied(t);
    const own = path.join(data, 'courtd.db');
    fs.writeFileSync(own, fs.readFileSync(own).fill(0xa5));
    const log = fs.readFileSync(`${own}-wal`);
    t.ok(log.length > 0);
    const { stderr } = await courtd(['restore', file, '--data', data]);
    const kept = /kept as (\S+):/.exec(stderr)?.[1] ?? '';
    t.ok(fs.readFileSync(`${kept}-wal`).equals(log));
    t.ok(fs.readFileSync(kept).every((byte) => byte === 0xa5));
    t.strictSame(
      names(data).filter((name) => /^courtd\.db(-.*)?$/.test(name)),
      ['courtd.db'],
    );
    const again = await Daemon.run(t, data, daemon.token);
    t.strictSame(await counts(again, sent), { accepted: 0, duplicates: 72 });
  },
);
