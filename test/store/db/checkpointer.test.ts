import fs from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { mock } from 'node:test';
import worker from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { Checkpointer, type WalState } from '../../../src/store/db/checkpointer.ts';
import { PAGE_BYTES } from '../../../src/store/db/schema.ts';
import { watchWal } from '../../../src/store/db/watchWal.ts';
import { Store } from '../../../src/store/store.ts';
import { stopClock } from '../../harness/clock.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { court, fillWal, otherConnection, recorder, scratch } from '../../harness/scratchStore.ts';

/** Frames in the WAL: fewer than a checkpoint is made for, enough for one, and too many for this thread. */
const [FEW, DUE, LONG] = [900, 1_100, 4_200];

function make(t: Test) {
  const { folder, db } = scratch(t);
  // As the daemon has it (store.ts).
  db.pragma('busy_timeout = 0');
  const failures: unknown[] = [];
  const checkpoints = new Checkpointer(db, (error) => failures.push(error));
  const state = () => (db.pragma('main.wal_checkpoint(NOOP)') as [WalState])[0];
  const left = () => state().log - state().checkpointed;
  return { folder, db, checkpoints, failures, state, left };
}

/** Another program that holds a read transaction until it is ended. */
function startReading(t: Test, folder: string): Database {
  const reader = otherConnection(t, folder);
  reader.exec('BEGIN; SELECT count(*) FROM session');
  return reader;
}

t.test('nothing is checkpointed inside a commit; a short checkpoint runs at once', (t) => {
  const { db, checkpoints, state, left } = make(t);
  const pass = stopClock(t);
  fillWal(db, FEW);
  t.notOk(checkpoints.isDue);
  fillWal(db, DUE - FEW);
  t.notOk(checkpoints.isDue, 'it has just looked');
  pass(1_000);
  t.ok(checkpoints.isDue);
  t.equal(state().checkpointed, 0, 'nor by SQLite itself');
  checkpoints.step();
  t.equal(left(), 0);
  t.notOk(checkpoints.isDue, 'and nothing is left to do');
  t.end();
});

t.test('behind a reader it is tried again after a pause, and not in every turn', (t) => {
  const { folder, db, checkpoints, left } = make(t);
  const pass = stopClock(t);
  const reader = startReading(t, folder);
  fillWal(db, DUE);
  checkpoints.step();
  t.ok(left() >= DUE);
  pass(999);
  t.notOk(checkpoints.isDue);
  pass(1);
  t.ok(checkpoints.isDue);
  reader.exec('COMMIT');
  checkpoints.step();
  t.equal(left(), 0);
  // No pause after one that was complete.
  fillWal(db, DUE);
  t.ok(checkpoints.isDue);
  t.end();
});

t.test('a long one runs in a worker thread; then short ones run here again', async (t) => {
  const { db, checkpoints, failures, left } = make(t);
  fillWal(db, LONG);
  checkpoints.truncate();
  t.ok(left() >= LONG, 'too much to be truncated in this thread');
  checkpoints.step();
  t.notOk(checkpoints.isDue, 'while the worker runs');
  await checkpoints.idle();
  t.equal(left(), 0);
  fillWal(db, DUE);
  t.ok(checkpoints.isDue);
  checkpoints.step();
  t.equal(left(), 0);
  t.strictSame(failures, []);
});

t.test('a worker thread that has not begun when a sync fails copies nothing', async (t) => {
  const { db, checkpoints, failures, left } = make(t);
  fillWal(db, LONG);
  checkpoints.step();
  checkpoints.stop();
  await checkpoints.idle();
  t.ok(left() >= LONG);
  t.notOk(checkpoints.isDue, 'nor does another one');
  t.strictSame(failures, []);
});

t.test('a failed checkpoint, in a worker or not, is reported and followed by a pause', async (t) => {
  const { folder, db, checkpoints, failures } = make(t);
  const pass = stopClock(t);
  fillWal(db, LONG);
  const file = path.join(folder, 'courtd.db');
  fs.renameSync(file, `${file}.away`);
  checkpoints.step();
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
  const { Worker } = worker;
  const running = new Set<unknown>();
  let started = 0;
  worker.Worker = class extends Worker {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      started++;
      running.add(this);
      this.once('exit', () => running.delete(this));
    }
  };
  module.syncBuiltinESMExports();
  t.teardown(() => {
    worker.Worker = Worker;
    module.syncBuiltinESMExports();
  });
  const folder = temporaryFolder(t);
  const { on, told } = recorder();
  const store = await Store.open(new DataDirectory(folder), on);
  const other = otherConnection(t, folder);
  other.pragma('wal_autocheckpoint = 0');
  fillWal(other, LONG);
  other.close();
  while (started === 0) {
    await store.append(court(event()));
    await new Promise(setImmediate);
  }
  await store.close();
  t.strictSame([started, running.size], [1, 0]);
  t.strictSame(told, []);
});

const MIB = 1024 ** 2;

t.test('behind a reader the WAL is large, then over its limit; both end when the reader has gone', (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { folder, db } = scratch(t);
  // As the daemon has it (store.ts).
  db.pragma('busy_timeout = 0');
  const told: string[] = [];
  const on = {
    walLarge: () => told.push('large'),
    walSmall: () => told.push('small'),
    walOver: (isOver: boolean) => told.push(isOver ? 'over' : 'under'),
  };
  const limits = { warnBytes: MIB, maxBytes: 2 * MIB };
  t.teardown(watchWal(new Checkpointer(db, (error) => void t.error(error)), db.name, on, limits));
  const reader = otherConnection(t, folder);
  reader.exec('BEGIN; SELECT count(*) FROM session');
  const lookAfter = (mib: number) => {
    if (mib > 0) fillWal(db, (mib * MIB) / PAGE_BYTES);
    mock.timers.tick(1_000);
    return told.splice(0);
  };
  t.strictSame(lookAfter(0.8), []);
  t.strictSame(lookAfter(0.6), ['large']);
  t.strictSame(lookAfter(0), [], 'once');
  t.strictSame(lookAfter(1), ['over']);
  reader.exec('COMMIT');
  t.strictSame(lookAfter(0), ['small', 'under'], 'with no event');
  t.equal(fs.statSync(`${db.name}-wal`).size, 0);
  t.end();
});
