import t from 'tap';
import { countExpired } from '../../../src/store/keep/pruneEvents.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

const ALL = { beforeMs: Date.now() + 1e9, nowMs: Date.now() + 2e9 };

t.test('after a prune the file keeps its size and reuses pages, and seqs continue', async (t) => {
  const { db } = scratch(t);
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  const committer = new Committer(db);
  committer.append(...court(...events(2_000), event({ note: 'x'.repeat(1_000_000) })));
  committer.sealAll();
  const pages = pragma('page_count');
  const { bytes } = await committer.prune(ALL);
  t.equal(pragma('page_count'), pages);
  t.ok(pragma('freelist_count') > 300);
  t.equal(bytes, pragma('page_size') * pragma('freelist_count'));
  committer.append(...court(...events(1_000)));
  t.equal(pragma('page_count'), pages);
  t.equal(db.prepare('SELECT max(seq) FROM event').pluck().get(), 3_001);
});

t.test('a prune keeps events that are not shipped until the hold is over', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  committer.append(...court(...events(9)));
  const left = () => db.prepare('SELECT seq FROM event ORDER BY seq').pluck().all();
  const hold = { afterSeq: 4, beforeMs: Date.now() - 1e6 };
  t.match(countExpired(db, { ...ALL, hold }), { events: 4, held: 5, of: 9 });
  t.match(await committer.prune({ ...ALL, hold }), { events: 4, held: 5 });
  t.strictSame(left(), [5, 6, 7, 8, 9]);
  t.match(await committer.prune({ ...ALL, hold: { ...hold, afterSeq: 6 } }), { events: 2, held: 3 });
  t.match(await committer.prune({ ...ALL, hold: { ...hold, beforeMs: ALL.beforeMs } }), {
    events: 3,
    held: 0,
  });
});
