import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import type { Status } from '../../src/health/status.ts';
import { courtd, Daemon } from '../harness/daemon.ts';
import { damagePages } from '../harness/damage.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** A daemon that runs on a damaged database: who looks is told so, and sees what can be seen. */

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

async function look(t: Test, data: string, exit = 1): Promise<Status> {
  const { status, stdout } = await courtd(['status', '--json', '--data', data]);
  t.equal(status, exit);
  return JSON.parse(stdout);
}

/** Both say so, and the cameras are shown. */
async function checkTold(t: Test, { data }: Daemon): Promise<Status> {
  const told = await look(t, data);
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
  t.strictSame((await look(t, daemon.data, 0)).problems, []);
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
