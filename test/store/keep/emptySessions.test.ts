import t from 'tap';
import { emptySessions } from '../../../src/store/keep/emptySessions.ts';
import { eventRemoval } from '../../../src/store/keep/pruneEvents.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

t.test('a session that gets an event after it was found empty stays', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  committer.append(...court(event({ session_id: 'one' }), event({ session_id: 'other' })));
  const session = db.prepare<[number], number>('SELECT session FROM event WHERE seq = ?').pluck();
  for (const seq of [1, 2]) db.transaction(() => eventRemoval(db)([{ seq, session: session.get(seq)! }]))();
  const [step] = emptySessions(db, committer.steps, () => 100);
  committer.append(...court(event({ session_id: 'other' })));
  step?.();
  t.strictSame(db.prepare('SELECT id FROM session ORDER BY id').pluck().all(), [2]);
  t.end();
});
