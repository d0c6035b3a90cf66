import fs from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { mock } from 'node:test';
import worker from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import * as limits from '../../../src/base/limits.ts';
import { Checkpointer, checkpoint } from '../../../src/store/db/checkpointer.ts';
import { PAGE_BYTES } from '../../../src/store/db/schema.ts';
import { Store } from '../../../src/store/store.ts';
import { stopClock } from '../../harness/clock.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { court, fillWal, otherConnection, recorder, scratch } from '../../harness/scratchStore.ts';

/** Frames in the WAL: fewer than a checkpoint is made for, and enough for one. */
const [FEW, DUE] = [4_900, 5_100];
const MIB = 1024 ** 2;

function make(t: Test) {
  const { folder, db } = scratch(t);
  // As the daemon has it (store.ts).
  db.pragma('busy_timeout = 0');
  const failures: unknown[] = [];
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

/** Calls `ended` when a worker thread has ended, before the store knows. @returns how many have been started. */
function watchWorkers(t: Test, ended: () => void): () => number {
  const { Worker } = worker;
  let started = 0;
  worker.Worker = class extends Worker {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      started++;
      this.once('exit', ended);
    }
  };
  module.syncBuiltinESMExports();
  t.teardown(() => {
    worker.Worker = Worker;
    module.syncBuiltinESMExports();
  });
  return () => started;
}

t.test('nothing is checkpointed inside a commit', (t) => {
  const { db, checkpoints, left } = make(t);
  const pass = stopClock(t);
  fillWal(db, FEW);
  t.notOk(checkpoints.isDue);
  fillWal(db, DUE - FEW);
  t.notOk(checkpoints.isDue, 'it has just looked');
  pass(1_000);
  t.ok(checkpoints.isDue);
  t.ok(left() >= DUE, 'nor by SQLite itself');
  t.end();
});

t.test('a checkpoint copies what came meanwhile, so that the WAL starts over', async (t) => {
  const { db, checkpoints, failures, left } = make(t);
  watchWorkers(t, () => fillWal(db, FEW));
  for (let round = 0; round < 2; round++) {
    fillWal(db, DUE);
    t.ok(checkpoints.isDue, 'and there is no pause after one that was complete');
    checkpoints.start();
    t.notOk(checkpoints.isDue, 'while the worker runs');
    await checkpoints.idle();
    t.equal(left(), 0);
  }
  t.ok(checkpoint(db, 'NOOP').frames < 2.5 * DUE, 'of the second round');
  t.strictSame(failures, []);
});

t.test('after a failed sync what came meanwhile is not copied', async (t) => {
  const { db, checkpoints, left } = make(t);
  watchWorkers(t, () => {
    fillWal(db, FEW);
    checkpoints.stop();
  });
  fillWal(db, DUE);
  checkpoints.start();
  await checkpoints.idle();
  t.ok(left() >= FEW);
});

t.test('behind a reader it is tried again after a pause, and not in every turn', async (t) => {
  const { folder, db, checkpoints, left } = make(t);
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
  const { Checkpointer } = await t.mockImport<typeof import('../../../src/store/db/checkpointer.ts')>(
    '../../../src/store/db/checkpointer.ts',
    { '../../../src/base/limits.ts': { ...limits, ...sizes } },
  );
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { folder, db } = make(t);
  let isOver: boolean | undefined;
  const checkpoints = new Checkpointer(db, (error) => void t.error(error));
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
});

t.test('a failed checkpoint, in a worker or not, is reported and followed by a pause', async (t) => {
  const { folder, db, checkpoints, failures } = make(t);
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

t.test('a store that closes waits for the worker', async (t) => {
  let ended = 0;
  const started = watchWorkers(t, () => {
    ended++;
  });
  const folder = temporaryFolder(t);
  const { on, told } = recorder();
  const store = await Store.open(new DataDirectory(folder), on);
  const other = otherConnection(t, folder);
  other.pragma('wal_autocheckpoint = 0');
  fillWal(other, DUE);
  other.close();
  while (started() === 0) {
    await store.writer.append(court(event()));
    await new Promise(setImmediate);
  }
  await store.close();
  t.strictSame([started(), ended], [1, 1]);
  t.strictSame(told, []);
});
