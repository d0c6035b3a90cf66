import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { decodeBatch } from '../../../src/protocol/decodeBatch.ts';
import type { CourtEvent } from '../../../src/protocol/event.ts';
import { readKeyHash } from '../../../src/store/dedup/keyHash.ts';
import { openDatabase } from '../../../src/store/open/openDatabase.ts';
import { findRevisions } from '../../../src/store/read/eventRevisions.ts';
import { readSession } from '../../../src/store/read/sessionReader.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, collidingIds, court, keyState, scratch, unbindable } from '../../harness/scratchStore.ts';

const NEW = { accepted: 1, duplicates: 0, conflicts: 0 };
const KNOWN = { accepted: 0, duplicates: 1, conflicts: 0 };
const IN_CONFLICT = { accepted: 0, duplicates: 1, conflicts: 1, sharedIds: undefined };

t.test('a key is session, event_id and revision: each of them makes another event, compared exactly', (t) => {
  const store = new Committer(scratch(t).db);
  const sent = event({ event_id: 'é' });
  const others = [
    sent,
    { ...sent, session_id: 'session-2' },
    { ...sent, event_id: 'e\u0301' },
    { ...sent, event_id: 'É' },
    { ...sent, event_id: 'é ' },
    { ...sent, revision: 1 },
  ];
  t.strictSame(store.append(...court(...others)), { accepted: 6, duplicates: 0, conflicts: 0 });
  for (const other of others) t.strictSame(store.append(...court(other)), KNOWN);
  t.end();
});

t.test(
  'revisions that differ above 32 bits are different events, in memory, in the file and after a start',
  (t) => {
    const { folder, db } = scratch(t);
    const ms = 1_773_500_966_535;
    const low = ms % 2 ** 32;
    const sent = event();
    const revisions = [0, 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, low, ms, ms + 1, 2 ** 53 - 2, REVISION_MAX];
    const all = court(...revisions.map((revision) => ({ ...sent, revision })));
    const known = { accepted: 0, duplicates: all.length, conflicts: 0 };
    const store = new Committer(db);
    for (const each of all) t.strictSame(store.append(each), NEW, `${each.revision}`);
    t.strictSame(store.append(...all), known);
    store.sealAll();
    t.strictSame(store.append(...all), known, 'flushed');
    t.match(keyState(db), { events: all.length, flushed: all.length, unknown: 0, astray: 0 });
    t.strictSame(
      findRevisions(db, sent.session_id, sent.event_id).map(({ revision }) => revision),
      [...revisions].sort((x, y) => x - y),
    );
    const [later] = court({ ...sent, revision: 2 ** 33 });
    t.strictSame(store.append(later!), NEW);
    db.close();
    const started = new Committer(openDatabase(folder));
    t.strictSame(started.append(...all, later!), { ...known, duplicates: all.length + 1 }, 'started again');
    t.end();
  },
);

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

t.test('copies inside one request count like copies in another, over more than one INSERT', (t) => {
  const store = new Committer(scratch(t).db);
  const sent = court(...events(50));
  const [first] = sent;
  const request = [...sent, ...sent.toReversed(), { ...first!, confidence: 0 }];
  t.match(store.append(...request), { accepted: 50, duplicates: 51, conflicts: 1 });
  t.end();
});

t.test('an event that is gone (pruned) is stored again when its copy comes, and only once', (t) => {
  for (const isFlushed of [false, true]) {
    const { db } = scratch(t);
    const store = new Committer(db);
    const [gone, kept] = court(event({ event_id: 'gone' }), event({ event_id: 'kept' }));
    store.append(gone!, kept!);
    if (isFlushed) store.sealAll();
    db.exec("DELETE FROM event WHERE event_id = 'gone'");
    const again = store.append(kept!, gone!, gone!, { ...gone!, confidence: 0 });
    t.match(again, { accepted: 1, duplicates: 3, conflicts: 1 }, `flushed: ${isFlushed}`);
    t.equal(db.prepare("SELECT count(*) FROM event WHERE event_id = 'gone'").pluck().get(), 1);
    t.strictSame(store.append(gone!), KNOWN);
    store.sealAll();
    t.strictSame(store.append(gone!), KNOWN);
    t.equal(findRevisions(db, 'session-1', 'gone').length, 1);
    // The key of the one that is gone stays until a prune sweeps it.
    t.match(keyState(db), { events: 2, flushed: 3, unknown: 0, twice: 0, astray: 1 });
  }
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

t.test(
  'copies of a long event are told from it by their lengths, and read only where those are the same',
  (t) => {
    const { db } = scratch(t);
    const text = 'x'.repeat(100_000);
    const like = (overrides: Record<string, unknown>) =>
      court(event({ event_id: 'e', payload: { text }, more: 'y'.repeat(50_000), ...overrides }));
    let bytes = 0;
    const { prepare } = db;
    db.prepare = ((sql: string) => {
      const statement = prepare.call(db, sql);
      if (!/^\s*SELECT payload/.test(sql)) return statement;
      const get = statement.get as (...args: unknown[]) => unknown;
      statement.get = (...args: unknown[]) => {
        const row = get.apply(statement, args) as { payload: string; extra: string };
        bytes += row.payload.length + row.extra.length;
        return row;
      };
      return statement;
    }) as typeof db.prepare;
    const store = new Committer(db);
    store.append(...like({}));
    const copies = Array<CourtEvent>(500).fill(like({ payload: {} })[0]!);
    t.match(store.append(...copies), { accepted: 0, duplicates: 500, conflicts: 500 });
    t.match(store.append(...like({ more: '' })), IN_CONFLICT);
    t.equal(bytes, 0);
    t.strictSame(store.append(...like({})), KNOWN);
    t.match(store.append(...like({ payload: { text: `${text.slice(1)}z` } })), IN_CONFLICT);
    t.ok(bytes > 300_000 && bytes < 301_000, 'two reads');
    t.end();
  },
);

t.test('names that a rollback took back are made again, not remembered', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  const names = { session_id: 'new session', court_id: 'new court' };
  t.throws(() => store.append(unbindable(court(event(names))[0]!)));
  store.append(...court(event({ session_id: 'between', court_id: 'other' })));
  store.append(...court(event(names)));
  t.strictSame(db.prepare('SELECT session_id, court_id FROM events ORDER BY seq').raw().all(), [
    ['between', 'other'],
    ['new session', 'new court'],
  ]);
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
    [undefined, { all: [first, changed], inConflict: [changed] }, { all: [other], inConflict: [] }],
  );
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

t.test('a session that is flushed after a rollback still knows what came after the next start', (t) => {
  const { folder, db } = scratch(t);
  const before = new Committer(db);
  before.append(...court(event()));
  t.throws(() => before.append(...court(...events(9)), unbindable(court(event())[0]!)));
  before.sealAll();
  db.close();
  const later = court(...events(5));
  for (const counts of [
    { accepted: 5, duplicates: 0, conflicts: 0 },
    { accepted: 0, duplicates: 5, conflicts: 0 },
  ]) {
    const { db: reopened } = scratch(t, folder);
    t.strictSame(new Committer(reopened).append(...later), counts);
    t.match(keyState(reopened), { events: 6, unknown: 0 });
    reopened.close();
  }
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

t.test('events whose ids have the same hash are two events, wherever their keys are', (t) => {
  const { folder, db } = scratch(t);
  const store = new Committer(db);
  const [one, other] = collidingIds(readKeyHash(db)).map((event_id) => court(event({ event_id }))[0]!);
  t.strictSame(
    store.append(one!, other!, one!),
    { accepted: 2, duplicates: 1, conflicts: 0 },
    'in one request',
  );
  const elsewhere = { ...other!, sessionId: 'session-2' };
  store.append({ ...one!, sessionId: 'session-2' });
  store.sealAll();
  t.strictSame(store.append(elsewhere), NEW, 'the first in the file');
  t.strictSame(store.append(elsewhere), KNOWN);
  const known = () => {
    for (const each of [one!, other!]) {
      t.strictSame(store.append(each), KNOWN);
      t.match(findRevisions(db, each.sessionId, each.eventId), [{ eventId: each.eventId }]);
    }
  };
  known();
  store.sealAll();
  known();
  db.close();
  const { db: reopened } = scratch(t, folder);
  t.strictSame(new Committer(reopened).append(one!, other!, elsewhere).duplicates, 3, 'after a start');
  t.match(keyState(reopened), { events: 4, flushed: 4, unknown: 0, astray: 0 });
  t.end();
});

t.test('of two ids with the same hash, one arrives while the other is on its way to the file', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  const [one, other] = collidingIds(readKeyHash(db)).map((event_id) => court(event({ event_id }))[0]!);
  store.append(one!);
  // Begins: no key is in the file yet.
  store.appender.keys.flushStep();
  t.match(keyState(db), { flushed: 0 });
  t.strictSame(store.append(other!), NEW);
  for (const each of [one!, other!]) t.strictSame(store.append(each), KNOWN);
  t.end();
});

t.test('what SQLite notes for itself stays in memory: a full /var/tmp stops nothing', (t) => {
  const { db } = scratch(t);
  new Committer(db).append(...court(event()));
  t.equal(db.pragma('temp_store', { simple: true }), 2);
  t.end();
});
