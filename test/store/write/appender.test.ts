import t from 'tap';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import { findRevisions } from '../../../src/store/read/eventRevisions.ts';
import { readSession } from '../../../src/store/read/sessionReader.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, keyState, scratch, unbindable } from '../../harness/scratchStore.ts';

const NEW = { accepted: 1, duplicates: 0, conflicts: 0 };
const KNOWN = { accepted: 0, duplicates: 1, conflicts: 0 };
const IN_CONFLICT = { accepted: 0, duplicates: 1, conflicts: 1, sharedIds: undefined };

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
    const [found, ...none] = findRevisions(db, 'session-1', 'e');
    t.match(found, { payload: '{"x_ft":1,"y_ft":2}', conflictingCopies: changes.length });
    t.strictSame(none, []);
    t.strictSame(db.prepare('SELECT duplicates FROM session').pluck().get(), changes.length + 1);
    t.end();
  },
);

t.test('a copy from another court or source is told apart: two cameras share its event_id', (t) => {
  const store = new Committer(scratch(t).db);
  const sent = event({ event_id: '1' });
  t.strictSame(store.append(...court(sent)), NEW);
  for (const change of [{ court_id: 'c' }, { source: 's' }, { court_id: 'c', payload: {} }])
    t.match(store.append(...court({ ...sent, ...change })), { ...IN_CONFLICT, sharedIds: 1 });
  const request = court(sent, { ...sent, confidence: 0.5 }, { ...sent, source: 's' });
  const counts = store.append(...request);
  t.match(counts, { accepted: 0, duplicates: 3, conflicts: 2, sharedIds: 1 });
  t.equal(counts.firstConflict?.source, 's', 'of the conflicts it is the one to tell of');
  t.end();
});

t.test('a key that a crash left in both places leads to the event of its copy, once that was pruned', (t) => {
  const { folder, db } = scratch(t);
  const first = new Committer(db);
  // More than one step of flushing: the crash is between the two.
  const sent = court(...events(4_500));
  for (let at = 0; at < sent.length; at += 500) first.append(...sent.slice(at, at + 500));
  // The first one sorts them.
  first.appender.keys.flushStep();
  first.appender.keys.flushStep();
  db.close();
  const { db: reopened } = scratch(t, folder);
  t.ok(keyState(reopened).twice > 0);
  const inFile = reopened.prepare<[], number>('SELECT seq FROM key LIMIT 1').pluck().get()!;
  reopened.prepare('DELETE FROM event WHERE seq = ?').run(inFile);
  // They were stored in the order of arrival.
  const pruned = sent[inFile - 1]!;
  reopened.close();
  const { db: after } = scratch(t, folder);
  const second = new Committer(after);
  t.strictSame(second.append(pruned), NEW);
  second.sealAll();
  t.strictSame(second.append(pruned), KNOWN);
  t.match(keyState(after), { unknown: 0, twice: 0, astray: 1 });
  t.end();
});

t.test('an event whose names have been damaged is a duplicate all the same', (t) => {
  const { folder, db } = scratch(t);
  const sent = event({ event_id: 'e' });
  new Committer(db).append(...court(sent, event({ source: 'other' })));
  db.exec("DELETE FROM origin WHERE source <> 'other'");
  db.close();
  const { db: reopened } = scratch(t, folder);
  // Whether it is the same cannot be told any more.
  t.match(new Committer(reopened).append(...court(sent)), IN_CONFLICT);
  t.equal(reopened.prepare('SELECT count(*) FROM event').pluck().get(), 2);
  const damaged =
    /Damaged in the database, and left out: event "e" \(revision 0, seq 1\) of session "session-1"/;
  t.throws(() => findRevisions(reopened, 'session-1', 'e'), damaged);
  t.throws(() => [...readSession(reopened, sessionId(reopened, 'session-1'))], damaged);
  t.end();
});

t.test('the duplicates of each request are named, and those of them that are in conflict', (t) => {
  const { db } = scratch(t);
  const { appender } = new Committer(db);
  const [first, other, changed] = court(
    event({ event_id: 'a' }),
    event(),
    event({ event_id: 'a', confidence: 0.1 }),
  );
  const requests = [[first!], [first!, other!, changed!], [other!]].map((events) => ({
    events,
    receivedMs: 0,
  }));
  const counts = db.transaction(() => appender.append(requests)).immediate();
  t.strictSame(
    counts.map(({ copies }) => copies),
    [
      undefined,
      { all: [first, changed], inConflict: [{ event: changed, other: undefined }] },
      { all: [other], inConflict: [] },
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
  t.match(keyState(db), { flushed: 20, unflushed: 10, unknown: 0, twice: 0 });
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
