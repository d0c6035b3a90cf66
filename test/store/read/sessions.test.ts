import t from 'tap';
import { Damage } from '../../../src/store/read/damage.ts';
import { summarizeSession } from '../../../src/store/read/sessions.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

t.test('an event from the future has an eot after its receipt: one at the same moment is none', (t) => {
  const { db } = scratch(t);
  const eot = '2026-03-14T15:09:26.535Z';
  const committer = new Committer(db, () => Date.parse(eot));
  const future = () => summarizeSession(db, 'now', new Damage()).lateness.future_events;
  committer.append(...court(event({ session_id: 'now', eot })));
  t.equal(future(), 0);
  committer.append(...court(event({ session_id: 'now', eot: '2026-03-14T15:09:26.536Z' })));
  t.equal(future(), 1);
  t.end();
});
