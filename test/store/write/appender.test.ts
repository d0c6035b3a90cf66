import t from 'tap';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import { keyHash } from '../../../src/store/db/keyHash.ts';
import { eventRemoval } from '../../../src/store/keep/pruneEvents.ts';
import { Damage } from '../../../src/store/read/damage.ts';
import { findRevisions } from '../../../src/store/read/eventRevisions.ts';
import { readSession } from '../../../src/store/read/sessionReader.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
import { KEY_LIMITS } from '../../../src/store/write/keys.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, keyState, scratch, unbindable } from '../../harness/scratchStore.ts';

const NEW = { accepted: 1, duplicates: 0, conflicts: 0 };
const KNOWN = { accepted: 0, duplicates: 1, conflicts: 0 };
const IN_CONFLICT = { accepted: 0, duplicates: 1, conflicts: 1 };

t.test(
  'a copy with another JSON value is a conflict, the first stays, and the same value written otherwise is none',
  (t) => {
    const { db } = scratch(t);
    const store = new Committer(db);
    const sent = event({ event_id: 'e', payload: { x_ft: 1, y_ft: 2 }, lens: 'wide' });
    t.strictSame(store.append(...court(sent)), NEW);
    const reversed = { ...sent, payload: { y_ft: 2, x_ft: 1 }, revision: 0 };
    const backwards = JSON.stringify(Object.fromEntries(Object.entries(reversed).reverse()));
    t.strictSame(store.append(...decodeBatch(Buffer.from(backwards.replace('0.97', '97e-2')))), KNOWN);
    const changes: object[] = [
      { payload: {} },
      { confidence: 0.5 },
      // The same instant, but not what was sent.
      { eot: '2026-03-14T15:09:26.5350Z' },
      { type: 'BALL_HIT' },
      { venue_id: 'venue-2' },
      { schema_version: '1.1' },
      { lens: 'long' },
      { lens: undefined },
      { more: null },
    ];
    for (const change of changes)
      t.match(store.append(...court({ ...sent, ...change })), IN_CONFLICT, JSON.stringify(change));
    const [found, ...none] = findRevisions(db, 'session-1', 'e', new Damage());
    t.match(found, { payload: '{"x_ft":1,"y_ft":2}', conflictingCopies: changes.length });
    t.strictSame(none, []);
    t.strictSame(db.prepare('SELECT duplicates FROM session').pluck().get(), changes.length + 1);
    t.end();
  },
);

t.test('ids of names from a rolled-back transaction are not used in the next one', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  const twice = (source: string) => court(...Array(2).fill(event({ source, session_id: source })));
  const failing = db.transaction(() => {
    store.appender.append([{ events: twice('first'), receivedMs: 0 }]);
    throw new Error('rolled back');
  });
  t.throws(failing, /rolled back/);
  store.appender.rolledBack();
  t.match(store.append(...twice('second')), { accepted: 1, duplicates: 1 });
  t.end();
});

t.test('a key that a crash left in both places leads to the event of its copy, once that was pruned', (t) => {
  const { folder, db } = scratch(t);
  const first = new Committer(db, Date.now, { ...KEY_LIMITS, step: 100 });
  const sent = court(...events(300));
  first.append(...sent);
  // The crash is between two steps.
  first.appender.keys.moveStep();
  db.close();
  const { db: reopened } = scratch(t, folder);
  t.match(keyState(reopened), { twice: 100, unknown: 0 });
  const second = new Committer(reopened);
  t.strictSame(second.append(sent[0]!), KNOWN);
  const seq = reopened.prepare<[], number>('SELECT seq FROM key LIMIT 1').pluck().get()!;
  reopened.transaction(() => eventRemoval(reopened)([{ seq, session: 1 }]))();
  // They were stored in the order of arrival.
  const pruned = sent[seq - 1]!;
  t.strictSame(second.append(pruned), NEW);
  second.sealAll();
  t.strictSame(second.append(pruned), KNOWN);
  t.match(keyState(reopened), { unknown: 0, twice: 0, astray: 0 });
  t.end();
});

t.test('a row that the disk has changed is replaced when its event comes again', (t) => {
  const { folder, db } = scratch(t);
  const sent = court(...events(3));
  new Committer(db).append(...sent);
  db.exec("UPDATE event SET payload = '{}' WHERE seq = 2; UPDATE event SET event_id = 'x' WHERE seq = 3");
  db.close();
  const { db: reopened } = scratch(t, folder);
  const store = new Committer(reopened);
  store.appender.keys.replace({ session: 1, hash: keyHash(sent[2]!.eventId), revision: 0, seq: 3 });
  t.strictSame(store.append(...sent), { accepted: 2, duplicates: 1, conflicts: 0 });
  t.strictSame(store.append(...sent), { accepted: 0, duplicates: 3, conflicts: 0 });
  const chunks = [...readSession(reopened, sessionId(reopened, 'session-1'))];
  const payloads = chunks.flatMap(({ events }) => events.map(({ payload }) => payload));
  t.strictSame(payloads.sort(), sent.map(({ payload }) => payload).sort());
  t.end();
});

t.test('the duplicates of each request are named, and those of them that are in conflict', (t) => {
  const { db } = scratch(t);
  const { appender } = new Committer(db);
  const [first, other, changed, shared] = court(
    event({ event_id: 'a' }),
    event(),
    event({ event_id: 'a', confidence: 0.1 }),
    event({ event_id: 'a', source: 'cam-9' }),
  );
  const requests = [[first!], [first!, other!, changed!], [other!], [shared!]].map((events) => ({
    events,
    receivedMs: 0,
  }));
  const counts = db.transaction(() => appender.append(requests)).immediate();
  t.strictSame(
    counts.map(({ copies }) => copies),
    [
      undefined,
      { all: [first, changed], inConflict: [{ event: changed, isShared: false }] },
      { all: [other], inConflict: [] },
      { all: [shared], inConflict: [{ event: shared, isShared: true }] },
    ],
  );
  t.end();
});

t.test('a start reads back only the keys that are not in the file', (t) => {
  const { folder, db } = scratch(t);
  const before = new Committer(db);
  before.append(...court(...events(20)));
  before.sealAll();
  before.append(...court(...events(10)));
  t.match(keyState(db), { moved: 20, recent: 10, unknown: 0, twice: 0 });
  db.close();
  t.equal(new Committer(scratch(t, folder).db).appender.keys.count, 10);
  t.end();
});

t.test('what was rolled back is not known, and can be sent again', (t) => {
  const store = new Committer(scratch(t).db);
  const [good, bad] = court(event(), event());
  t.throws(() => store.append(good!, unbindable(bad!)));
  t.equal(store.appender.keys.count, 0);
  t.strictSame(store.append(good!, bad!), { accepted: 2, duplicates: 0, conflicts: 0 });
  t.end();
});
