import fs from 'node:fs';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SqliteError } from 'better-sqlite3';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { QUEUED_REQUESTS } from '../../../src/base/limits.ts';
import type { CourtEvent } from '../../../src/protocol/courtEvent.ts';
import { KEY_LIMITS } from '../../../src/store/db/sizes.ts';
import { Store } from '../../../src/store/store.ts';
import { GroupCommit } from '../../../src/store/write/groupCommit.ts';
import { stopClock } from '../../harness/clock.ts';
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
function makeWriter(t: Cleanup) {
  const { db } = scratch(t);
  const { on, told } = recorder();
  const commits: number[] = [];
  const writer = new GroupCommit(db, on, () => commits.push(commits.length));
  t.teardown(() => writer.close());
  return { db, writer, told, commits };
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

for (const [code, event, next] of [
  ['SQLITE_CORRUPT', 'damaged', stored(1)],
  ['SQLITE_IOERR_FSYNC', 'fatal', ['storage_failed', 503, '5']],
] as const) {
  t.test(`after ${code} the requests that met it are rejected, and it is reported as ${event}`, async (t) => {
    const { db } = scratch(t);
    const { on, told } = recorder();
    let isFailing = true;
    const writer = new GroupCommit(db, on, () => {
      if (isFailing) throw new SqliteError('as if', code);
    });
    t.strictSame(await refusal(writer.append(one())), ['storage_failed', 503, '5']);
    t.strictSame(told, [event]);
    isFailing = false;
    t.strictSame(await refusal(writer.append(one())), next, 'the next one');
  });
}

t.test('a full disk is not tried again at once: nothing is written for a request that comes', async (t) => {
  stopClock(t);
  const { writer, commits, db } = makeWriter(t);
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
  t.strictSame(await refusal(writer.append(court(...events(500)))), ['storage_full', 503, '5']);
  db.pragma('max_page_count = 1000000');
  t.strictSame(await refusal(writer.append(one())), ['storage_full', 503, '5']);
  t.equal(commits.length, 0);
});

t.test('more waiting requests than the limit are refused at once, and the others are stored', async (t) => {
  const folder = temporaryFolder(t);
  const store = await Store.open(new DataDirectory(folder), recorder().on);
  t.teardown(() => store.close());
  const other = otherConnection(t, folder);
  other.exec('BEGIN IMMEDIATE');
  const waiting = Array.from({ length: QUEUED_REQUESTS }, () => store.writer.append([]));
  t.strictSame(await refusal(store.writer.append(one())), ['overloaded', 503, '2']);
  other.exec('ROLLBACK');
  t.equal((await Promise.all(waiting)).length, QUEUED_REQUESTS);
  t.strictSame(await store.writer.append(one()), stored(1));
});

t.test('keys move to the file in steps, with a rest after each, though no more requests come', async (t) => {
  const sizes = { ...KEY_LIMITS };
  Object.assign(KEY_LIMITS, { move: 50, step: 20 });
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => {
    mock.timers.reset();
    Object.assign(KEY_LIMITS, sizes);
  });
  const { db, writer } = makeWriter(t);
  const moved = async () => {
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    return db.prepare<[], number>('SELECT count(*) FROM key').pluck().get();
  };
  await writer.append(court(...events(50)));
  t.equal(await moved(), 20);
  mock.timers.tick(19);
  await writer.append(one());
  t.equal(await moved(), 20, 'a request does not end the rest');
  mock.timers.tick(1);
  t.equal(await moved(), 40);
  mock.timers.tick(20);
  t.equal(await moved(), 50, 'without what came after the move began');
});

t.test('after a failed sync the log is not checkpointed any more: it may not be on the disk', async (t) => {
  const { db, writer } = makeWriter(t);
  await writer.append(one());
  const bytes = () => fs.statSync(`${db.name}-wal`).size;
  const before = bytes();
  t.ok(before > 0);
  writer.fail(new SqliteError('as if', 'SQLITE_IOERR_FSYNC'));
  writer.truncateWal();
  t.equal(writer.checkpoints.isDue, false);
  t.equal(bytes(), before);
});
