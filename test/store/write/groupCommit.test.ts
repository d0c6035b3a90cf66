import fs from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { SqliteError } from 'better-sqlite3';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { BUSY_GIVE_UP_MS, BUSY_RETRY_MS, FULL_RETRY_MS, QUEUED_REQUESTS } from '../../../src/base/limits.ts';
import type { CourtEvent } from '../../../src/protocol/courtEvent.ts';
import { Store } from '../../../src/store/store.ts';
import { DAMAGE_LOG_MS, GroupCommit } from '../../../src/store/write/groupCommit.ts';
import { KEY_LIMITS, type KeyLimits } from '../../../src/store/write/keys.ts';
import { MAINTENANCE_RETRY_MS } from '../../../src/store/write/maintenanceSteps.ts';
import { setClock, stopClock } from '../../harness/clock.ts';
import { type Cleanup, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import {
  court,
  otherConnection,
  recorder,
  refusal,
  scratch,
  unbindable,
} from '../../harness/scratchStore.ts';

/** A writer on a database of its own. */
function makeWriter(t: Cleanup, keys?: KeyLimits) {
  const { folder, db } = scratch(t);
  const { on, told } = recorder();
  const commits: number[] = [];
  const count = () => db.prepare<[], number>('SELECT count(*) FROM events').pluck().get();
  const writer = new GroupCommit(db, on, () => commits.push(commits.length), keys);
  return { folder, db, writer, told, commits, count };
}

const one = (overrides = {}) => court(event(overrides));
const stored = (accepted: number, duplicates = 0) => ({ accepted, duplicates, conflicts: 0 });

t.test('requests of one turn share one commit, and each gets its own counts', async (t) => {
  const { writer, commits } = makeWriter(t);
  const [shared] = one();
  const requests = [[shared!], [shared!, ...one()], [], [...one(), ...one()], [shared!]];
  const answers = await Promise.all(requests.map((request) => writer.append(request)));
  t.match(answers, [stored(1), stored(1, 1), stored(0), stored(2), stored(0, 1)]);
  t.equal(commits.length, 1);
  await writer.append(one());
  t.equal(commits.length, 2);
});

t.test(
  'requests come until a second has passed since a commit; what was refused counts for nothing',
  async (t) => {
    const { writer } = makeWriter(t);
    const pass = stopClock(t);
    t.notOk(writer.isServing);
    writer.hold('full', true);
    await t.rejects(writer.append(one()));
    t.notOk(writer.isServing);
    writer.hold('full', false);
    await writer.append(one());
    pass(999);
    t.ok(writer.isServing);
    pass(1);
    t.notOk(writer.isServing);
  },
);

t.test('a group is bounded: many large requests of one turn take more than one commit', async (t) => {
  const { writer, commits, count } = makeWriter(t);
  const requests = Array.from({ length: 17 }, () => court(...events(500)));
  await Promise.all(requests.map((request) => writer.append(request)));
  t.equal(commits.length, 3);
  t.equal(count(), 8_500);
});

t.test('a request that fails alone, with an error that nobody expected, is undone alone', async (t) => {
  const { writer, told, db } = makeWriter(t);
  const names = { session_id: 'first named by the bad one', court_id: 'so is this' };
  const [twin] = one(names);
  const bad = [...one(), twin!, unbindable(one(names)[0]!)];
  const requests: CourtEvent[][] = [one(), bad, [twin!], one(), bad];
  const answers = await Promise.all(requests.map((request) => refusal(writer.append(request))));
  t.strictSame([answers[0], answers[2], answers[3]], [stored(1), stored(1), stored(1)]);
  t.type(answers[1], RangeError);
  t.type(answers[4], RangeError);
  t.strictSame([...new Set(told)], ['unexpected']);
  t.match(await writer.append([twin!]), stored(0, 1));
  t.strictSame(db.prepare('SELECT session_id, count(*) FROM events GROUP BY 1 ORDER BY 1').raw().all(), [
    [names.session_id, 1],
    ['session-1', 2],
  ]);
});

t.test('the other requests of its group are stored in the order of arrival, also after a lock', async (t) => {
  const folder = temporaryFolder(t);
  stopClock(t);
  let locks = 0;
  const lock = async () => {
    if (++locks > 1) return;
    other.exec('BEGIN IMMEDIATE');
    await setTimeout(5 * BUSY_RETRY_MS);
    other.exec('ROLLBACK');
  };
  const store = await Store.open(new DataDirectory(folder), { ...recorder().on, unexpected: lock });
  t.teardown(() => store.close());
  const other = otherConnection(t, folder);
  const good = court(...events(4));
  const sent = [good.slice(0, 1), good.slice(1, 2), [unbindable(one()[0]!)], good.slice(2, 3), good.slice(3)];
  const answers = await Promise.all(sent.map((request) => refusal(store.append(request))));
  t.type(answers[2], RangeError);
  t.strictSame(
    other.prepare('SELECT event_id FROM event ORDER BY seq').pluck().all(),
    good.map(({ eventId }) => eventId),
  );
});

t.test('an almost full disk that takes only small requests is reported once', async (t) => {
  const pass = stopClock(t);
  const { writer, told, db } = makeWriter(t);
  await writer.append(one());
  db.pragma(`max_page_count = ${(db.pragma('page_count', { simple: true }) as number) + 1}`);
  for (const _ of ['first', 'second']) {
    t.strictSame(await refusal(writer.append(court(...events(500)))), ['storage_full', 503, '5']);
    pass(FULL_RETRY_MS);
    t.strictSame(await writer.append(one()), stored(1));
  }
  t.strictSame(told, ['full']);
});

t.test('damage is reported once a minute, and only the requests that meet it are rejected', async (t) => {
  const { db } = scratch(t);
  const { on, told } = recorder();
  const pass = stopClock(t);
  let isDamaged = true;
  const writer = new GroupCommit(db, on, () => {
    if (isDamaged) throw new SqliteError('a damaged page', 'SQLITE_CORRUPT');
  });
  const damaged = ['storage_failed', 503, '5'];
  for (const [passedMs, times] of [
    [0, 1],
    [DAMAGE_LOG_MS - 1, 1],
    [1, 2],
  ] as const) {
    pass(passedMs);
    t.strictSame(await refusal(writer.append(one())), damaged);
    t.strictSame(told, Array(times).fill('damaged'));
  }
  isDamaged = false;
  t.strictSame(await writer.append(one()), stored(1));
});

t.test('a full disk is not tried again at once: nothing is written for a request that comes', async (t) => {
  stopClock(t);
  const { writer, commits, db } = makeWriter(t);
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
  t.strictSame(await refusal(writer.append(court(...events(500)))), ['storage_full', 503, '5']);
  db.pragma('max_page_count = 1000000');
  t.strictSame(await refusal(writer.append(one())), ['storage_full', 503, '5']);
  t.equal(commits.length, 0);
});

/** A store, and another program that locks its database. */
async function makeStore(t: Cleanup) {
  const folder = temporaryFolder(t);
  const { on, told } = recorder();
  const store = await Store.open(new DataDirectory(folder), on);
  t.teardown(() => store.close());
  const other = otherConnection(t, folder);
  return { store, told, lock: () => other.exec('BEGIN IMMEDIATE'), release: () => other.exec('ROLLBACK') };
}

t.test(
  'a request that waited 250 ms in a busy event loop is tried once more, because the lock may be gone',
  async (t) => {
    const { store, lock, release } = await makeStore(t);
    lock();
    const waiting = [store.append(one()), store.append(one())];
    // The first try comes in the next turn; by then the clock is far on, as behind a turn that took long.
    const { now } = performance;
    setClock(t, () => now.call(performance) + 2 * BUSY_GIVE_UP_MS);
    await setTimeout(BUSY_RETRY_MS / 2);
    release();
    t.strictSame(await Promise.all(waiting), [stored(1), stored(1)]);
  },
);

t.test('of many that wait for a locked database each is answered, whenever it becomes late', async (t) => {
  const { store, lock, release } = await makeStore(t);
  lock();
  // Every look at the clock finds it a little later.
  const { now } = performance;
  let looks = 0;
  setClock(t, () => now.call(performance) + ++looks);
  const waiting = Array.from({ length: 200 }, () => refusal(store.append(one())));
  const answers = await Promise.all(waiting);
  t.strictSame([...new Set(answers.map(String))], ['storage_busy,503,1']);
  release();
});

t.test('more waiting requests than the limit are refused at once, and the others are stored', async (t) => {
  const { store, lock, release } = await makeStore(t);
  lock();
  const waiting = Array.from({ length: QUEUED_REQUESTS }, () => store.append([]));
  t.strictSame(await refusal(store.append(one())), ['overloaded', 503, '2']);
  release();
  t.equal((await Promise.all(waiting)).length, QUEUED_REQUESTS);
  t.strictSame(await store.append(one()), stored(1));
});

t.test(
  'with too many keys in memory events are refused until there are fewer: a start must read them back',
  async (t) => {
    const { writer, db } = makeWriter(t, { ...KEY_LIMITS, most: 10 });
    t.strictSame(await writer.append(court(...events(10))), stored(10));
    t.strictSame(await refusal(writer.append(one())), ['storage_busy', 503, '5']);
    t.equal(db.prepare('SELECT count(*) FROM event').pluck().get(), 10);
  },
);

t.test('keys that could not move, because the disk was full, move when there is room again', async (t) => {
  const { writer, db } = makeWriter(t, { move: 10, most: 10, step: 10 });
  const last = writer.append(court(...events(10)));
  db.pragma('wal_autocheckpoint = 0');
  await last.then(() => db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`));
  const fill = db.prepare('INSERT INTO key VALUES (9, ?, 0, 0)');
  t.throws(() => {
    for (let i = 0; ; i++) fill.run(Buffer.alloc(1_000, i));
  }, /full/);
  const refused = ['storage_busy', 503, '5'];
  t.strictSame(await refusal(writer.append(one())), refused);
  // The step has failed by now, and nothing else runs.
  await setTimeout(MAINTENANCE_RETRY_MS / 4);
  db.pragma('max_page_count = 1000000');
  let answer: unknown = refused;
  while (Array.isArray(answer)) {
    await setTimeout(BUSY_RETRY_MS);
    answer = await refusal(writer.append(one()));
  }
  t.strictSame(answer, stored(1));
});

t.test('after a failed sync the log is not checkpointed any more: it may not be on the disk', async (t) => {
  const { db, writer } = makeWriter(t);
  await writer.append(one());
  const bytes = () => fs.statSync(`${db.name}-wal`).size;
  const before = bytes();
  t.ok(before > 0);
  writer.fail(new SqliteError('as if', 'SQLITE_IOERR_FSYNC'));
  t.throws(() => writer.truncateWal(), { code: 'storage_failed' });
  writer.checkpoints.truncate();
  t.equal(writer.checkpoints.isDue, false);
  t.equal(bytes(), before);
});

t.test('if commits are no longer synced after a step of a prune, nothing is stored any more', async (t) => {
  const { db, writer, told } = makeWriter(t);
  await writer.append(one());
  const { pragma } = db;
  db.pragma = (source, options) => {
    if (source === 'synchronous = FULL') throw new Error('no memory');
    return pragma.call(db, source, options);
  };
  t.throws(() => writer.step(() => {}), { code: 'SQLITE_IOERR' });
  t.strictSame(told, ['fatal']);
  t.match(await refusal(writer.append(one())), ['storage_failed']);
});
