import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { openDatabase } from '../../src/store/db/openDatabase.ts';
import { Daemon } from '../harness/daemon.ts';
import { changeText } from '../harness/damage.ts';
import { events } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

/** What a daemon stores in a database of which the disk has changed some bytes. */

runInProcess();
serveAgain();

/** A table or an index, and what has become of a name in it: another one, or one that is there, too. */
const CHANGED_NAMES = [
  ['session', 'match-1', 'match-9'],
  ['session', 'match-1', 'match-3'],
  ['origin', 'court-1', 'court-3'],
  ['sqlite_autoindex_session_1', 'match-1', 'match-9'],
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

/** @returns a daemon whose database was changed, with ten events of `sent` in it, after it has received them all again. */
async function damaged(t: Test, sql: string) {
  const first = await Daemon.start(t);
  const sent = events(10);
  await first.post(sent);
  await first.stop();
  openDatabase(new DataDirectory(first.data)).exec(sql).close();
  const daemon = await Daemon.run(t, first.data, first.token);
  return { daemon, sent, counts: await (await daemon.post(sent)).json() };
}

t.test(
  'an event that has lost its session or its revision is stored again when it comes again',
  async (t) => {
    for (const column of ['session', 'revision']) {
      const { daemon, sent, counts } = await damaged(t, `UPDATE event SET ${column} = NULL WHERE seq = 3`);
      t.strictSame(counts, { accepted: 1, duplicates: 9 }, column);
      const { stdout } = await daemon.command('export', 'session-1', '--format', 'ndjson');
      const exported = stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).event_id);
      t.strictSame(exported.sort(), sent.map(({ event_id }) => event_id).sort(), column);
    }
  },
);
