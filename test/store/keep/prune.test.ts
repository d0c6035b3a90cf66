import t from 'tap';
import { countExpired, pruneEvents } from '../../../src/store/keep/pruneEvents.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
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
  t.match(keyState(db), { events: 350, moved: 350 });
  t.match(await committer.prune(POSITIONS), { events: 300, sessions: 1 });
  t.match(keyState(db), { events: 50, moved: 50, unknown: 0, astray: 0 });
  t.match(committer.append(...court(...hits)), { accepted: 0, duplicates: 50 });
  t.match(committer.append(...court(...positions)), { accepted: 300, duplicates: 0 });
  committer.sealAll();
  t.match(keyState(db), { events: 350, unknown: 0, astray: 0 });
});

t.test('keys in memory go with their events', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const positions = events(300, { type: 'PLAYER_POSITION' });
  committer.append(...court(...positions, ...events(50)));
  await committer.prune(POSITIONS);
  committer.append(...court(positions[0]!, ...events(10)));
  committer.sealAll();
  t.match(keyState(db), { events: 61, moved: 61, unknown: 0, astray: 0 });
  t.match(committer.append(...court(positions[0]!, positions[1]!)), { accepted: 1, duplicates: 1 });
});

t.test('a prune deletes the keys of its events, and keeps the seq up to which it deleted', async (t) => {
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
  // They are too young to be deleted by themselves.
  db.prepare('UPDATE conflict SET last_ms = ?').run(ALL.nowMs);
  const noted = () => [
    db.prepare('SELECT seq FROM conflict ORDER BY seq').pluck().all(),
    db.prepare('SELECT seq FROM conflict_copy ORDER BY seq').pluck().all(),
    db.prepare('SELECT substr(first_eot, 12, 2), substr(last_eot, 12, 2) FROM session').raw().get(),
    db.prepare('SELECT up_to_seq FROM pruned').pluck().get(),
  ];
  t.strictSame(noted(), [[1, 2, 3], [1, 2, 3], [null, null], 0]);
  await committer.prune(POSITIONS);
  t.strictSame(noted(), [[1, 2], [1, 2], ['10', '11'], 3]);
  await committer.prune({ ...ALL, type: 'BALL_HIT' });
  t.strictSame(noted(), [[2], [2], ['11', '11'], 3]);
});

t.test('a prune that was cut short before the keys: the next one sweeps them', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  committer.append(...court(...events(300)));
  committer.sealAll();
  const cut = committer.prune(ALL, (events) => {
    if (events === 300) throw new Error('power cut');
  });
  await t.rejects(cut, /power cut/);
  t.match(keyState(db), { events: 0, moved: 300 });
  t.throws(() => sessionId(db, 'session-1'), /There is no session/, 'whose row is still there');
  t.match(await committer.prune(ALL), { events: 0, sessions: 0 });
  t.match(keyState(db), { events: 0, moved: 0 });
});

t.test('a prune of earlier events deletes all keys without events', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const kept = event({ type: 'BALL_HIT' });
  committer.append(...court(kept, ...events(10), ...events(300, { type: 'PLAYER_POSITION' })));
  committer.sealAll();
  const cut = committer.prune(POSITIONS, (events) => {
    if (events === 300) throw new Error('power cut');
  });
  await t.rejects(cut, /power cut/);
  t.match(keyState(db), { events: 11, moved: 311 });
  t.match(await committer.prune({ ...ALL, type: 'BALL_BOUNCE' }), { events: 10 });
  t.match(keyState(db), { events: 1, moved: 1, unknown: 0, astray: 0 });
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

t.test('prune --session deletes one session whole, whatever its age', async (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [one, other] = ['one', 'other'].map((session_id) => events(300, { session_id })) as [
    object[],
    object[],
  ];
  const mixed = one.flatMap((event, i) => [event, other[i]!]) as ReturnType<typeof events>;
  committer.append(...court(...mixed.slice(0, 400)));
  committer.sealAll();
  committer.append(...court(...mixed.slice(400)));
  const which = { beforeMs: Date.now(), nowMs: Date.now(), session: 'one' };
  t.match(countExpired(db, which), { events: 300, sessions: 1, of: 600 });
  t.match(await committer.prune(which), { events: 300, sessions: 1 });
  t.strictSame(db.prepare('SELECT name FROM session').pluck().all(), ['other']);
  t.match(keyState(db), { events: 300, moved: 200, recent: 100, unknown: 0, astray: 0 });
  t.match(committer.append(...court(...mixed)), { accepted: 300, duplicates: 300 });
  await t.rejects(committer.prune({ ...which, session: 'none' }), /There is no session/);
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
