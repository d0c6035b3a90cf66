import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { MEMTABLE_KEYS } from '../../src/store/dedup/dedupIndex.ts';
import { storedIds } from '../harness/cameras.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { answerOf } from '../harness/rawClient.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

/** A page that an event must be written to is damaged: of an index, or of a table beside the events. */

const PAGE_BYTES = 4096;
const TOLD =
  'Part of the database is damaged: requests that need it are refused, and what is read of it may be incomplete.';

/** Overwrites pages of a table or an index, with the daemon stopped. @param where of all its leaves, in their order. */
function damage(data: string, name: string, where: (leaves: number[]) => number[]): void {
  const file = path.join(data, 'courtd.db');
  const db = new Database(file, { readonly: true });
  const leaves = db
    .prepare<[string], number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
    .pluck()
    .all(name);
  db.close();
  const fd = fs.openSync(file, 'r+');
  for (const page of where(leaves))
    fs.writeSync(fd, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  fs.closeSync(fd);
}

t.test('the list of copies with different content: such a copy is refused, each time', async (t) => {
  const first = await Daemon.start(t);
  const [one, two] = events(2);
  t.equal((await first.post([one, two])).status, 202);
  t.equal((await first.post({ ...one, confidence: 0.5 })).status, 202);
  t.equal(await first.stop(), 0);
  damage(first.data, 'conflict', (leaves) => leaves);
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
  append(5_000, 5_000 + MEMTABLE_KEYS);
  db.close();
  damage(folder, 'key', (leaves) => leaves.slice(1, -1));
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
