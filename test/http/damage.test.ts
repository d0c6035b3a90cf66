import path from 'node:path';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { openDatabase } from '../../src/store/db/openDatabase.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { changeText } from '../harness/damage.ts';
import { events } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

/** What a daemon stores in a database of which the disk has changed some bytes. */

runInProcess();
serveAgain();

/** A table or an index, and what has become of a name in it: another one, one that is there, too, or one in the wrong order. */
const CHANGED_NAMES = [
  ['session', 'match-1', 'match-9'],
  ['session', 'match-1', 'match-3'],
  ['origin', 'court-1', 'court-3'],
  ['sqlite_autoindex_session_1', 'match-1', 'match-9'],
  ['sqlite_autoindex_session_1', 'match-1', 'matchz1'],
  ['sqlite_autoindex_origin_1', 'court-1', 'court-9'],
] as const;

for (const when of ['before a start', 'while it serves'])
  t.test(`a name that has changed in a table or its index ${when} is healed`, async (t) => {
    for (const [tree, from, to] of CHANGED_NAMES) {
      const first = await Daemon.start(t);
      const [one, three, nine] = [1, 3, 9].map((n) =>
        events(5, { session_id: `match-${n}`, court_id: `court-${n}` }),
      );
      await first.post(one);
      await first.post(three);
      await first.stop();
      if (when === 'before a start') changeText(first.data, tree, from, to);
      const daemon = await Daemon.run(t, first.data, first.token);
      if (when === 'while it serves') {
        changeText(first.data, tree, from, to);
        // Any commit of another process makes the daemon read the file again.
        await commandInProcess(['token', 'rotate', '--data', first.data]);
      }
      const other = events(1, { session_id: 'match-1', court_id: 'court-1' });
      let [accepted, duplicates] = [0, 0];
      const sent = [[...one!, ...other], three, nine];
      for (const some of when === 'before a start' ? sent : sent.reverse()) {
        const counts = (await (await daemon.post(some)).json()) as { accepted: number; duplicates: number };
        accepted += counts.accepted;
        duplicates += counts.duplicates;
      }
      t.strictSame([accepted, duplicates], [6, 10], `${tree} ${to}`);
      const exports = ['match-1', 'match-3', 'match-9'].map((session) => daemon.exported(session));
      t.strictSame(
        (await Promise.all(exports)).map(({ length }) => length),
        [6, 5, 5],
        `${tree} ${to}`,
      );
      await daemon.stop();
    }
  });

/** @returns a box that has received ten events, of which the first five are in a backup, and was stopped and changed then. */
async function changedBox(t: Test, sql: string) {
  const daemon = await Daemon.start(t);
  const sent = events(10);
  await daemon.post(sent.slice(0, 5));
  const backup = path.join(temporaryFolder(t), 'backup.db');
  await daemon.command('backup', backup);
  await daemon.post(sent.slice(5));
  await daemon.stop();
  openDatabase(new DataDirectory(daemon.data)).exec(sql).close();
  const again = () => Daemon.run(t, daemon.data, daemon.token);
  return { daemon, again, sent, salvage: () => daemon.command('restore', backup, '--salvage') };
}

t.test('an event that has lost its session or its revision is stored again if it comes again', async (t) => {
  for (const column of ['session', 'revision']) {
    const { again, sent } = await changedBox(t, `UPDATE event SET ${column} = NULL WHERE seq = 3`);
    const daemon = await again();
    t.strictSame(await (await daemon.post(sent)).json(), { accepted: 1, duplicates: 9 }, column);
    const { stdout } = await daemon.command('export', 'session-1', '--format', 'ndjson');
    const exported = stdout.matchAll(/"event_id":"(\w+)"/g).map(([, id]) => id);
    t.strictSame([...exported].sort(), sent.map(({ event_id }) => event_id).sort(), column);
  }
});

t.test('a seq that is too high stops no salvage, and only one that no box gives stops a start', async (t) => {
  const high = await changedBox(t, `UPDATE event SET seq = ${2 ** 40} WHERE seq = 10`);
  const daemon = await high.again();
  t.strictSame(await (await daemon.post([...high.sent, ...events(3)])).json(), {
    accepted: 4,
    duplicates: 9,
  });
  await daemon.stop();
  t.match(await high.salvage(), { status: 1, stderr: /Salvaged 8 events .* 1 event could not be read/ });
  t.equal((await high.daemon.exported('session-1')).length, 13);

  const impossible = await changedBox(t, `UPDATE event SET seq = ${2n ** 63n - 1n} WHERE seq = 10`);
  await t.rejects(impossible.again(), { message: /is damaged.*restore FILE --salvage/ });
  t.match(await impossible.salvage(), {
    status: 1,
    stderr: /Salvaged 4 events .* 1 event could not be read/,
  });
  const restored = await impossible.again();
  t.strictSame(await (await restored.post(impossible.sent)).json(), { accepted: 1, duplicates: 9 });
});

t.test('a token that has lost a part of its hash is invalid, and status asks for a new one', async (t) => {
  const { again } = await changedBox(t, 'UPDATE token SET hash = substr(hash, 2)');
  const daemon = await again();
  t.equal((await daemon.post(events(1))).status, 401);
  const { problems } = JSON.parse((await daemon.command('status', '--json')).stdout);
  t.match(problems, [{ code: 'no_token' }]);
  const { stdout } = await daemon.command('token', 'rotate');
  t.equal((await daemon.post(events(1), { Authorization: `Bearer ${stdout.trim()}` })).status, 202);
});

t.test('status reports a damaged event until its camera sends it again', async (t) => {
  const { again, sent } = await changedBox(t, 'UPDATE event SET confidence = 0.1 WHERE seq = 3');
  const daemon = await again();
  const problems = async () => JSON.parse((await daemon.command('status', '--json')).stdout).problems;
  for (let look = 0; look < 2; look++) t.match(await problems(), [{ code: 'damage' }]);
  t.strictSame(await (await daemon.post(sent)).json(), { accepted: 1, duplicates: 9 });
  t.notMatch(await problems(), [{ code: 'damage' }]);
});

t.test('an event that was stored again because its key was damaged is counted by an export', async (t) => {
  const { again, sent } = await changedBox(
    t,
    'UPDATE flushed SET up_to = 9; INSERT INTO key SELECT session, zeroblob(16), seq, seq FROM event WHERE seq < 10',
  );
  const daemon = await again();
  t.strictSame(await (await daemon.post(sent)).json(), { accepted: 9, duplicates: 1 });
  t.match(await daemon.command('export', 'session-1'), { status: 1, stderr: /19 events and has 10/ });
});
