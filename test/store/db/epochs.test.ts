import t from 'tap';
import { beginEpoch, readEpochs, sharedUpTo } from '../../../src/store/db/epochs.ts';
import { eventRemoval } from '../../../src/store/keep/pruneEvents.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

const log = (...epochs: [name: string, fromSeq: number][]) =>
  epochs.map(([name, fromSeq]) => ({ name, fromSeq }));

t.test('two logs have in common what came before the first of their different epochs began', (t) => {
  const whole = Number.MAX_SAFE_INTEGER;
  t.equal(sharedUpTo(log(['a', 0]), log(['a', 0])), whole);
  t.equal(sharedUpTo(log(['a', 0]), log(['a', 0], ['b', 800])), 800);
  t.equal(sharedUpTo(log(['a', 0]), log(['a', 0], ['b', 800], ['c', 850])), 800, 'restored twice');
  t.equal(sharedUpTo(log(['a', 0], ['b', 700]), log(['a', 0], ['c', 600])), 600);
  t.equal(sharedUpTo(log(['a', 0], ['b', 600]), log(['a', 0], ['c', 700])), 600);
  t.equal(sharedUpTo(log(['a', 0], ['b', 600]), log(['a', 0])), 600, 'a backup of before the restore');
  t.equal(sharedUpTo(log(['a', 0]), log(['z', 0])), undefined, 'another box');
  t.end();
});

t.test('a new epoch begins after the highest seq that was ever given', (t) => {
  const { db } = scratch(t);
  const [first] = readEpochs(db);
  t.match(first, { name: /^[a-z0-9]{24}$/, fromSeq: 0 });
  new Committer(db).append(...court(...events(3), event()));
  const removed = [3, 4].map((seq) => ({ seq, session: 1 }));
  db.transaction(() => eventRemoval(db)(removed))();
  beginEpoch(db);
  const [same, second, ...rest] = readEpochs(db);
  t.strictSame([same, rest], [first, []]);
  t.equal(second?.fromSeq, 4);
  t.not(second?.name, first?.name);
  t.end();
});
