import t from 'tap';
import { CONFLICT_COPIES, CONFLICT_COPY_BYTES } from '../../../src/base/limits.ts';
import { Damage } from '../../../src/store/read/damage.ts';
import { countConflicts, readConflicts } from '../../../src/store/read/storedConflicts.ts';
import type { Cleanup } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

function open(t: Cleanup) {
  const { db } = scratch(t);
  const read = (session?: number) => [...readConflicts(db, session, new Damage())].flat();
  return { db, store: new Committer(db), read };
}

t.test('the newest are kept, the one that came last first, and one that comes again is new again', (t) => {
  const { db, store, read } = open(t);
  const sent = events(CONFLICT_COPIES + 250);
  store.append(...court(...sent));
  const changed = court(...sent.map((one) => ({ ...one, confidence: 0.5 })));
  for (let at = 0; at < changed.length; at += 500) {
    store.append(...changed.slice(at, at + 500));
    store.append(changed[0]!);
  }
  const kept = read().map(({ eventId }) => eventId);
  const expected = [sent[0]!, ...sent.slice(-CONFLICT_COPIES + 1).reverse()].map((one) => one.event_id);
  t.strictSame(kept, expected);
  t.equal(countConflicts(db), sent.length, 'all are counted');
  t.equal(db.prepare('SELECT count(*) FROM conflict_copy').pluck().get(), CONFLICT_COPIES);
  t.end();
});

t.test('of a session only its own; a version that is too large is only counted', (t) => {
  const { db, store, read } = open(t);
  const [a, b] = [event({ session_id: 'a' }), event({ session_id: 'b' })];
  store.append(...court(a, b));
  const large = { ...a, payload: { player_id: 'x'.repeat(CONFLICT_COPY_BYTES) } };
  store.append(...court(large, { ...b, confidence: 0.5 }));
  const id = db.prepare<[string], number>('SELECT id FROM session WHERE name = ?').pluck();
  t.match(read(id.get('a')), [{ times: 1, other: null, sessionId: 'a' }]);
  t.match(read(id.get('b')), [{ times: 1, other: /"confidence":0.5/ }]);
  t.equal(countConflicts(db, id.get('b')), 1);
  store.append(...court({ ...a, confidence: 0.5 }));
  t.match(read(id.get('a')), [{ times: 2, other: /"confidence":0.5/ }]);
  t.end();
});
