import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { BATCH_EVENTS, BODY_BYTES } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { parseMetrics } from '../harness/metrics.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const daemon = await Daemon.start(t);

t.test(
  'a resend is ignored and counted, in the same request, in another one, and after a restart',
  async (t) => {
    const [a, b] = events(2);
    t.strictSame(await (await daemon.post([a, b, a])).json(), { accepted: 2, duplicates: 1 });
    t.strictSame(await (await daemon.post([b, a])).json(), { accepted: 0, duplicates: 2 });
    t.equal(await daemon.stop(), 0);
    const again = await Daemon.run(t, daemon.data, daemon.token);
    t.strictSame(await (await again.post(a)).json(), { accepted: 0, duplicates: 1 });
    t.equal((await again.exported('session-1')).length, 2);
  },
);

t.test('an event that the disk has changed is stored again when its camera sends it', async (t) => {
  const daemon = await Daemon.start(t);
  const sent = events(3);
  await daemon.post(sent);
  const db = new Database(path.join(daemon.data, 'courtd.db'));
  db.exec("UPDATE event SET payload = '{}' WHERE seq = 2").close();
  t.strictSame(await (await daemon.post(sent)).json(), { accepted: 1, duplicates: 2 });
  t.strictSame(await (await daemon.post(sent)).json(), { accepted: 0, duplicates: 3 });
  const stored = (await daemon.exported('session-1')).map((line) => JSON.parse(line));
  const ids = (all: typeof stored) => all.map(({ event_id, payload }) => [event_id, payload]).sort();
  t.strictSame(ids(stored), ids(sent));
});

t.test('an empty array is answered with two zeros, and nothing is committed for it', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(event());
  const commits = async () => {
    const { stdout } = await daemon.command('metrics');
    return parseMetrics(stdout).series.get('courtd_commit_seconds_count');
  };
  const before = await commits();
  for (let i = 0; i < 100; i++) {
    const answer = await daemon.post([]);
    t.strictSame([answer.status, await answer.json()], [202, { accepted: 0, duplicates: 0 }]);
  }
  t.equal(await commits(), before);
});

t.test('500 copies of the key of a stored event as large as a body do not read it 500 times', async (t) => {
  const daemon = await Daemon.start(t);
  const large = event({ payload: { text: 'x'.repeat(BODY_BYTES - 1_000) } });
  t.strictSame(await (await daemon.post(large)).json(), { accepted: 1, duplicates: 0 });
  const copies = Array(BATCH_EVENTS).fill({ ...large, payload: {} });
  const before = daemon.bytesRead;
  t.strictSame(await (await daemon.post(copies)).json(), { accepted: 0, duplicates: BATCH_EVENTS });
  const read = daemon.bytesRead - before;
  t.ok(read < 4 * BODY_BYTES, `${read} bytes were read`);
  t.strictSame(await (await daemon.post(large)).json(), { accepted: 0, duplicates: 1 });
  const list = await daemon.command('session', 'list', '--json');
  t.match(JSON.parse(list.stdout), [{ events: 1, duplicates: BATCH_EVENTS + 1, conflicts: 1 }]);
});
