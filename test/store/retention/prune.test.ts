import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import type { WireEvent } from '../../../src/protocol/eventSchema.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
import { PacedSteps, READ_ROWS } from '../../../src/store/retention/pacedSteps.ts';
import { countExpired, pruneEvents } from '../../../src/store/retention/prune.ts';
import { stopClock } from '../../harness/clock.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, keyState, scratch } from '../../harness/scratchStore.ts';

const ALL = { beforeMs: Date.now() + 1e9, nowMs: Date.now() + 2e9 };
const POSITIONS = { ...ALL, type: 'PLAYER_POSITION' };

t.test('keys in the file go with their events, and no others', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const positions = events(300, { type: 'PLAYER_POSITION' });
  const hits = events(50, { type: 'BALL_HIT' });
  committer.append(...court(...positions, ...hits));
  committer.sealAll();
  t.match(keyState(db), { events: 350, flushed: 350 });
  t.match(await committer.prune(POSITIONS), { events: 300, sessions: 1 });
  t.match(keyState(db), { events: 50, flushed: 50, unknown: 0, astray: 0 });
  t.match(committer.append(...court(...hits)), { accepted: 0, duplicates: 50 });
  t.match(committer.append(...court(...positions)), { accepted: 300, duplicates: 0 });
  committer.sealAll();
  t.match(keyState(db), { events: 350, unknown: 0, astray: 0 });
});

t.test(
  'keys in memory, of events that are gone, reach the file and lead nowhere, until a prune sweeps them',
  async (t) => {
    const { db } = scratch(t);
    const committer = new Committer(db);
    const positions = events(300, { type: 'PLAYER_POSITION' });
    committer.append(...court(...positions, ...events(50)));
    await committer.prune(POSITIONS);
    committer.append(...court(positions[0]!, ...events(10)));
    committer.sealAll();
    t.match(keyState(db), { events: 61, flushed: 361, unknown: 0, astray: 300 });
    t.match(committer.append(...court(positions[0]!, positions[1]!)), { accepted: 1, duplicates: 1 });
    await committer.prune(POSITIONS);
    t.match(keyState(db), { events: 60, flushed: 60, unknown: 0, astray: 0 });
  },
);

t.test('a session with keys in memory is swept again when they have reached the file', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  // More than one read's worth.
  committer.append(...court(...events(READ_ROWS + 100, { type: 'PLAYER_POSITION' }), ...events(10)));
  t.match(await committer.prune(POSITIONS), { events: READ_ROWS + 100 });
  committer.sealAll();
  t.match(keyState(db), { events: 10, astray: READ_ROWS + 100 });
  for (const _ of ['a prune that deletes nothing', 'and another one']) {
    t.match(await committer.prune({ ...ALL, beforeMs: 0 }), { events: 0 });
    t.match(keyState(db), { events: 10, flushed: 10, unknown: 0, astray: 0 });
  }
  t.equal(db.prepare('SELECT max(dangling_up_to_seq) FROM session').pluck().get(), 0, 'and then no more');
});

t.test('what is noted of events goes with them, and how far events were deleted stays', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [first, middle, last] = [
    event({ type: 'BALL_HIT', eot: '2026-03-14T10:00:00Z' }),
    event({ eot: '2026-03-14T11:00:00Z' }),
    event({ type: 'PLAYER_POSITION', eot: '2026-03-14T12:00:00Z' }),
  ];
  const sent = [first, middle, last];
  committer.append(...court(...sent));
  const changed = sent.map((each) => ({ ...each, confidence: 0.125 }));
  t.match(committer.append(...court(...changed)), { conflicts: 3 });
  // They are too young to go by themselves.
  db.prepare('UPDATE conflict SET last_ms = ?').run(ALL.nowMs);
  const noted = () => [
    db.prepare('SELECT seq FROM conflict ORDER BY seq').pluck().all(),
    db.prepare('SELECT seq FROM conflict_copy ORDER BY seq').pluck().all(),
    db.prepare('SELECT first_seq, last_seq FROM session').raw().get(),
    db.prepare('SELECT up_to_seq FROM pruned').pluck().get(),
  ];
  t.strictSame(noted(), [[1, 2, 3], [1, 2, 3], [1, 3], 0]);
  await committer.prune(POSITIONS);
  t.strictSame(noted(), [[1, 2], [1, 2], [1, 2], 3]);
  await committer.prune({ ...ALL, type: 'BALL_HIT' });
  t.strictSame(noted(), [[2], [2], [2, 2], 3]);
  // A lower revision is deleted first, also where it came last.
  committer.append(...court({ ...last, revision: 1 }, { ...last, type: 'BALL_HIT' }));
  const newest = db.prepare('SELECT max(seq) FROM event').pluck().get();
  await committer.prune(POSITIONS);
  t.strictSame(noted(), [[2], [2], [2, 2], newest]);
});

t.test('replaced revisions are found by their keys in the file, and among the latest events', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [inFile, inMemory, both] = events(3, { type: 'BALL_HIT' });
  const position = { revision: REVISION_MAX, type: 'PLAYER_POSITION' as const };
  committer.append(...court(inFile!, { ...inFile!, ...position }, { ...inMemory!, ...position }, both!));
  committer.sealAll();
  committer.append(
    ...court(inMemory!, { ...inMemory!, revision: REVISION_MAX - 1 }, { ...both!, ...position }, event()),
  );
  t.match(countExpired(db, POSITIONS), { events: 7, sessions: 1, of: 8 });
  t.match(await committer.prune(POSITIONS), { events: 7, sessions: 1 });
  t.equal(db.prepare('SELECT count(*) FROM event').pluck().get(), 1);
});

t.test('what a revision has replaced goes before it: a prune may be cut short anywhere', async (t) => {
  const { db } = scratch(t);
  // Nothing but the hits has revisions: of the others it need not look through all events.
  db.exec(`
    CREATE TEMP TRIGGER in_order BEFORE DELETE ON event
      WHEN OLD.event_id IN ('hit-1', 'hit-2')
       AND OLD.revision = (SELECT max(revision) FROM event WHERE event_id = OLD.event_id)
       AND OLD.revision > (SELECT min(revision) FROM event WHERE event_id = OLD.event_id)
      BEGIN SELECT RAISE(ABORT, 'a lower one would be current again'); END`);
  const committer = new Committer(db);
  const hits = ['hit-1', 'hit-2'].map((event_id) => event({ event_id, type: 'BALL_HIT' }));
  const revised = (hit: WireEvent, revision: number, isPosition: boolean) => ({
    ...hit,
    revision,
    ...(isPosition ? { type: 'PLAYER_POSITION' as const } : {}),
  });
  for (const which of [POSITIONS, ALL]) {
    for (const order of ['0123', '2310', '3210']) {
      const revisions = [...order].map(Number);
      const { length } = order;
      committer.append(...court(...revisions.map((n) => revised(hits[0]!, n, n > 1))));
      committer.append(...court(...events(1_000, { type: 'BALL_SPEED' })));
      committer.append(...court(...revisions.map((n) => revised(hits[1]!, n, n % 2 === 1))));
      const { events: old } = countExpired(db, which);
      t.ok(old >= 2 * length, order);
      t.match(await committer.prune(which), { events: old }, order);
    }
  }
});

t.test('a prune that was cut short before the keys: the next one sweeps them', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  committer.append(...court(...events(300)));
  committer.sealAll();
  const cut = committer.prune(ALL, (_, events) => {
    if (events === 300) throw new Error('power cut');
  });
  await t.rejects(cut, /power cut/);
  t.match(keyState(db), { events: 0, flushed: 300 });
  t.throws(() => sessionId(db, 'session-1'), /There is no session/, 'whose row is still there');
  t.match(await committer.prune(ALL), { events: 0, sessions: 0 });
  t.match(keyState(db), { events: 0, flushed: 0 });
});

t.test('and sweeps all of them, where it deletes earlier events', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const kept = event({ type: 'BALL_HIT' });
  committer.append(...court(kept, ...events(10), ...events(300, { type: 'PLAYER_POSITION' })));
  committer.sealAll();
  const cut = committer.prune(POSITIONS, (_, events) => {
    if (events === 300) throw new Error('power cut');
  });
  await t.rejects(cut, /power cut/);
  t.match(keyState(db), { events: 11, flushed: 311 });
  t.match(await committer.prune({ ...ALL, type: 'BALL_BOUNCE' }), { events: 10 });
  t.match(keyState(db), { events: 1, flushed: 1, unknown: 0, astray: 0 });
});

t.test('an old revision with an older one far before it counts as two events', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const first = event();
  committer.append(...court(first, ...events(READ_ROWS), { ...first, revision: 1 }));
  t.strictSame(countExpired(db, ALL), {
    events: READ_ROWS + 2,
    sessions: 1,
    held: 0,
    of: READ_ROWS + 2,
  });
  t.end();
});

t.test('a step that found the database locked is repeated whole', async (t) => {
  // A step ends when its time is over.
  stopClock(t);
  const { db } = scratch(t);
  const steps = new PacedSteps(db, new Committer(db).steps, () => {});
  const done: number[] = [];
  let attempts = 0;
  await steps.runAll([1, 2, 3, 4, 5], 2, (items) => {
    const some = [...items];
    if (++attempts === 2) throw new Database.SqliteError('locked', 'SQLITE_BUSY');
    return () => void done.push(...some);
  });
  t.strictSame(done, [1, 2, 3, 4, 5]);
  t.equal(attempts, 4, 'two items a step');
});

t.test('what arrives in the pause after its session has gone makes the session again', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [sent] = court(event());
  committer.append(sent!);
  const sessions = db.prepare<[], string>('SELECT name FROM session').pluck();
  const answers: unknown[] = [];
  const step = (work: () => void) => {
    committer.steps.step(work);
    if (answers.length === 0 && sessions.all().length === 0) answers.push(committer.append(sent!));
  };
  await pruneEvents({ db, writer: { ...committer.steps, step }, on: () => {} }, ALL);
  t.match(answers, [{ accepted: 1, duplicates: 0 }]);
  t.strictSame(sessions.all(), [sent!.sessionId]);
});

t.test('what changes pages all over the file is told apart from what frees neighbours', async (t) => {
  const day = 24 * 3600 * 1000;
  const now = Date.now();
  for (const [selection, expected] of [
    [
      { beforeMs: now + day, nowMs: now + day },
      { events: false, keys: false, pages: true },
    ],
    [
      { beforeMs: now, nowMs: now + day },
      { events: false, keys: true, pages: true },
    ],
    [
      { ...POSITIONS, nowMs: now + 1e10 },
      { events: true, keys: true, pages: true },
    ],
  ] as const) {
    const { db } = scratch(t);
    let clock = now - day;
    const committer = new Committer(db, () => clock);
    committer.append(...court(...events(300, { type: 'PLAYER_POSITION' })));
    clock = now;
    committer.append(...court(...events(300, { type: 'BALL_HIT' })));
    committer.sealAll();
    const left = (table: string) => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()!;
    const said: Record<string, unknown> = {};
    const step = (work: () => void, isScattered?: boolean) => {
      const before = { events: left('event'), keys: left('key') };
      committer.steps.step(work);
      if (left('event') < before.events) said.events = isScattered;
      else if (left('key') < before.keys) said.keys = isScattered;
      else said.pages = isScattered;
    };
    await pruneEvents({ db, writer: { ...committer.steps, step }, on: () => {} }, selection);
    t.strictSame(said, expected);
  }
});

t.test('everything is given back, and numbering goes on', async (t) => {
  const { folder, db } = scratch(t);
  const pages = () => db.pragma('page_count', { simple: true }) as number;
  const empty = pages();
  const committer = new Committer(db);
  committer.append(...court(...events(2_000), event({ note: 'x'.repeat(1_000_000) })));
  committer.sealAll();
  t.ok(pages() > empty + 300);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const { bytes } = await committer.prune(ALL);
  t.ok(bytes > 300 * 4096);
  t.equal(db.pragma('freelist_count', { simple: true }), 0);
  t.ok(pages() <= empty + 2, `${pages()} pages, ${empty} at first`);
  t.equal(fs.statSync(path.join(folder, 'courtd.db')).size, 4096 * pages(), 'and the file is as small');
  committer.append(...court(event()));
  t.equal(db.prepare('SELECT max(seq) FROM event').pluck().get(), 2_002);
});

t.test('what is not shipped stays, with what it would uncover, until the hold is over', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [early, late] = events(2);
  committer.append(...court({ ...early!, revision: 1 }, ...events(3), late!, { ...late!, revision: 1 }));
  committer.append(...court(early!, ...events(2)));
  const left = () => db.prepare('SELECT seq FROM event ORDER BY seq').pluck().all();
  const hold = { afterSeq: 4, beforeMs: Date.now() - 1e6 };
  t.match(countExpired(db, { ...ALL, hold }), { events: 3, held: 6, of: 9 });
  t.match(await committer.prune({ ...ALL, hold }), { events: 3, held: 6 });
  t.strictSame(left(), [1, 5, 6, 7, 8, 9], 'the first is held by its lower revision, which came later');
  t.match(await committer.prune({ ...ALL, hold: { ...hold, afterSeq: 6 } }), { events: 2, held: 4 });
  t.strictSame(left(), [1, 7, 8, 9]);
  t.match(await committer.prune({ ...ALL, hold: { ...hold, beforeMs: ALL.beforeMs } }), {
    events: 4,
    held: 0,
  });
});
