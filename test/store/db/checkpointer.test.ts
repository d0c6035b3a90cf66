import fs from 'node:fs';
import path from 'node:path';
import { mock } from 'node:test';
import type { Database } from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import * as limits from '../../../src/base/limits.ts';
import { checkpoint } from '../../../src/store/db/checkpointer.ts';
import { PAGE_BYTES } from '../../../src/store/db/schema.ts';
import { runInThread } from '../../../src/store/db/statementThread.ts';
import { stopClock } from '../../harness/clock.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { fillWal, otherConnection, recorder, scratch } from '../../harness/scratchStore.ts';

/** Frames in the WAL: fewer than a checkpoint is made for, and enough for one. */
const [FEW, DUE] = [1_900, 2_100];
const MIB = 1024 ** 2;

/** @param mocks the modules of src that are replaced. */
async function make(t: Test, mocks: Record<string, unknown> = {}) {
  const { folder, db } = scratch(t);
  // As the daemon has it (store.ts).
  db.pragma('busy_timeout = 0');
  const failures: unknown[] = [];
  const { Checkpointer } = await t.mockImport<typeof import('../../../src/store/db/checkpointer.ts')>(
    '../../../src/store/db/checkpointer.ts',
    mocks,
  );
  const checkpoints = new Checkpointer(db, (error) => failures.push(error));
  const left = () => checkpoint(db, 'NOOP').left;
  return { folder, db, checkpoints, failures, left };
}

/** Another program that holds a read transaction until it is ended. */
function startReading(t: Test, folder: string): Database {
  const reader = otherConnection(t, folder);
  reader.exec('BEGIN; SELECT count(*) FROM session');
  return reader;
}

/** @returns a mock of the thread, which calls `ended` before the checkpointer knows that it has ended. */
function thread(ended: () => void | Promise<void>) {
  const run = async (file: string, sql: string) => {
    const failure = await runInThread(file, sql);
    await ended();
    return failure;
  };
  return { '../../../src/store/db/statementThread.ts': { runInThread: run } };
}

t.test('nothing is checkpointed inside a commit', async (t) => {
  const { db, checkpoints, left } = await make(t);
  const pass = stopClock(t);
  fillWal(db, FEW);
  t.notOk(checkpoints.isDue);
  fillWal(db, DUE - FEW);
  t.notOk(checkpoints.isDue, 'it has just looked');
  pass(1_000);
  t.ok(checkpoints.isDue);
  t.ok(left() >= DUE, 'nor by SQLite itself');
});

t.test('a checkpoint copies what came meanwhile, so that the WAL starts over', async (t) => {
  const { db, checkpoints, failures, left } = await make(
    t,
    thread(() => fillWal(db, FEW)),
  );
  for (let round = 0; round < 2; round++) {
    fillWal(db, DUE);
    t.ok(checkpoints.isDue, 'and there is no pause after one that was complete');
    checkpoints.start();
    t.notOk(checkpoints.isDue, 'while the thread runs');
    await checkpoints.idle();
    t.equal(left(), 0);
  }
  t.ok(checkpoint(db, 'NOOP').frames < 2.5 * DUE, 'of the second round');
  t.strictSame(failures, []);
});

t.test('after a failed sync what came meanwhile is not copied', async (t) => {
  const { db, checkpoints, left } = await make(
    t,
    thread(() => {
      fillWal(db, FEW);
      checkpoints.stop();
    }),
  );
  fillWal(db, DUE);
  checkpoints.start();
  await checkpoints.idle();
  t.ok(left() >= FEW);
});

t.test('behind a reader it is tried again after a pause, and not in every turn', async (t) => {
  const { folder, db, checkpoints, left } = await make(t);
  const pass = stopClock(t);
  const reader = startReading(t, folder);
  fillWal(db, DUE);
  checkpoints.start();
  await checkpoints.idle();
  t.ok(left() >= DUE);
  pass(999);
  t.notOk(checkpoints.isDue);
  pass(1);
  t.ok(checkpoints.isDue);
  reader.exec('COMMIT');
  checkpoints.start();
  await checkpoints.idle();
  t.equal(left(), 0);
});

t.test('behind a reader the WAL exceeds its limit, and is truncated when the reader has gone', async (t) => {
  const sizes = { WAL_WARN_BYTES: MIB, WAL_MAX_BYTES: 2 * MIB };
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { folder, db, checkpoints, failures } = await make(t, {
    '../../../src/base/limits.ts': { ...limits, ...sizes },
  });
  let isOver: boolean | undefined;
  t.teardown(
    checkpoints.watch((is) => {
      isOver = is;
    }),
  );
  const reader = startReading(t, folder);
  const isOverAfter = async (mib: number) => {
    if (mib > 0) fillWal(db, (mib * MIB) / PAGE_BYTES);
    mock.timers.tick(1_000);
    await checkpoints.idle();
    return isOver;
  };
  t.equal(await isOverAfter(1.5), false);
  t.equal(await isOverAfter(1), true);
  t.equal(await isOverAfter(0), true);
  reader.exec('COMMIT');
  t.equal(await isOverAfter(0), true, 'it is truncated behind the look');
  t.equal(fs.statSync(`${db.name}-wal`).size, 0, 'with no event');
  t.equal(await isOverAfter(0), false);
  t.strictSame(failures, []);
});

t.test('a failed checkpoint, in the thread or not, is reported and followed by a pause', async (t) => {
  const { folder, db, checkpoints, failures } = await make(t);
  const pass = stopClock(t);
  fillWal(db, DUE);
  const file = path.join(folder, 'courtd.db');
  fs.renameSync(file, `${file}.away`);
  checkpoints.start();
  await checkpoints.idle();
  fs.renameSync(`${file}.away`, file);
  t.match(failures, [{ code: 'SQLITE_CANTOPEN' }]);
  pass(999);
  t.notOk(checkpoints.isDue);
  pass(1);
  t.ok(checkpoints.isDue);
  db.close();
  t.notOk(checkpoints.isDue);
  t.match(failures, [{}, { message: /not open/ }]);
});

t.test('a store that closes waits for the thread', async (t) => {
  const [running, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { Store } = await t.mockImport<typeof import('../../../src/store/store.ts')>(
    '../../../src/store/store.ts',
    thread(() => {
      running.resolve();
      return ended.promise;
    }),
  );
  const folder = temporaryFolder(t);
  const { on, told } = recorder();
  const store = await Store.open(new DataDirectory(folder), on);
  fillWal(store.db, DUE);
  await store.writer.append([]);
  await running.promise;
  let isClosed = false;
  const closed = store.close().then(() => {
    isClosed = true;
  });
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  t.notOk(isClosed);
  ended.resolve();
  await closed;
  t.strictSame(told, []);
});
