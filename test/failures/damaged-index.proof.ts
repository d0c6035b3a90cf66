import t from 'tap';
import { KEY_LIMITS } from '../../src/store/write/keys.ts';
import { storedIds } from '../harness/cameras.ts';
import { Daemon } from '../harness/daemon.ts';
import { damagePages } from '../harness/damage.ts';
import { event, events } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { answerOf } from '../harness/rawClient.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

/** A page that an event must be written to is damaged: of an index, or of a table beside the events. */

const TOLD = 'Part of the database is damaged. Requests that need that part are answered with 503.';

t.test('the list of copies with different content: such a copy is refused, each time', async (t) => {
  const first = await Daemon.start(t);
  const [one, two] = events(2);
  t.equal((await first.post([one, two])).status, 202);
  t.equal((await first.post({ ...one, confidence: 0.5 })).status, 202);
  t.equal(await first.stop(), 0);
  damagePages(first.data, 'conflict', (leaves) => leaves);
  const daemon = await Daemon.run(t, first.data, first.token);
  for (const _ of ['first', 'again']) {
    const answer = await answerOf(daemon.post({ ...two, confidence: 0.5 }));
    checkProblem(t, answer, 503, 'storage_failed', 'a copy that cannot be noted');
    t.equal((await answerOf(daemon.post([one, two]))).body, '{"accepted":0,"duplicates":2}');
  }
  t.equal(daemon.timesLogged(TOLD), 1);
  t.equal(await daemon.stop(), 0);
  t.strictSame(await storedIds(daemon), [one!.event_id, two!.event_id].sort());
});

t.test('the keys in the file: no more go there, and events are stored, after a start, too', async (t) => {
  const { folder, db } = scratch(t);
  const committer = new Committer(db);
  const [sample] = court(event());
  const append = (from: number, to: number) => {
    for (let i = from; i < to; i += 1_000) {
      committer.append(
        ...Array.from({ length: 1_000 }, (_, j) => ({ ...sample!, eventId: `event-${i + j}` })),
      );
    }
  };
  append(0, 5_000);
  committer.sealAll();
  append(5_000, 5_000 + KEY_LIMITS.calm);
  db.close();
  damagePages(folder, 'key', (leaves) => leaves.slice(1, -1));
  const first = await Daemon.start(t, [], folder);
  const sent = events(20, { session_id: 'session-2' });
  t.equal((await answerOf(first.post(sent))).body, '{"accepted":20,"duplicates":0}');
  t.match(await first.logged(TOLD), { level: 'error', code: 'SQLITE_CORRUPT' });
  const more = async (daemon: Daemon) => {
    const fresh = events(5, { session_id: 'session-2' });
    t.equal((await answerOf(daemon.post(fresh))).body, '{"accepted":5,"duplicates":0}');
    t.equal((await answerOf(daemon.post(sent))).body, '{"accepted":0,"duplicates":20}');
  };
  await more(first);
  t.equal(await first.stop(), 0);
  const again = await Daemon.run(t, first.data, first.token);
  await more(again);
  await again.logged(TOLD);
  await more(again);
  t.equal(await again.stop(), 0);
});
