import fs from 'node:fs';
import module from 'node:module';
import timers from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { PacedSteps, STEP_MS } from '../../../src/store/retention/pacedSteps.ts';
import { setClock, stopClock } from '../../harness/clock.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, fillWal, otherConnection, scratch } from '../../harness/scratchStore.ts';

/** Steps whose pauses take no time, on a clock that a step moves on. */
function make(t: Test) {
  const { setTimeout } = timers;
  t.teardown(() => {
    timers.setTimeout = setTimeout;
    module.syncBuiltinESMExports();
  });
  const pauses: unknown[] = [];
  timers.setTimeout = (async (ms: number) => void pauses.push(ms)) as typeof setTimeout;
  module.syncBuiltinESMExports();
  const { folder, db } = scratch(t);
  db.pragma('busy_timeout = 0');
  const pass = stopClock(t);
  const committer = new Committer(db);
  const make = (onWait: () => void, isServing = false) =>
    new PacedSteps(db, { ...committer.steps, isServing }, onWait);
  return { folder, db, committer, steps: make(() => {}), make, pauses, pass };
}

t.test('the pause after a step is twice as long as the step, and 2 ms at least', async (t) => {
  const { steps, pauses, pass } = make(t);
  for (const tookMs of [0, 1, 20]) t.equal(await steps.run(() => pass(tookMs)), tookMs);
  t.strictSame(pauses, [2, 2, 40]);
});

t.test(
  'while requests come it is forty times as long, and a second at most; a read has its own',
  async (t) => {
    const { make: makeSteps, pauses, pass } = make(t);
    const steps = makeSteps(() => {}, true);
    for (const tookMs of [0, 1, 20, 100]) await steps.run(() => pass(tookMs));
    t.strictSame(pauses.splice(0), [2, 40, 800, 1_000]);
    const read = (function* () {
      pass(10);
      yield 'read';
    })();
    for await (const one of steps.paced(read)) t.equal(one, 'read');
    t.strictSame(pauses, [20]);
  },
);

t.test('after each hour it gives way less, down to the pauses of one whom nobody waits for', async (t) => {
  const { make: makeSteps, pauses, pass } = make(t);
  const steps = makeSteps(() => {}, true);
  for (const hours of [0, 1, 2, 96]) {
    pass(hours * 3_600_000);
    await steps.run(() => pass(10));
  }
  t.strictSame(pauses, [400, 200, 100, 20]);
});

t.test('a transaction ends when its time is over, and has one item at least', async (t) => {
  const { steps, pass } = make(t);
  const done: number[][] = [];
  const work = (itemMs: number) => (items: Iterable<number>) => {
    const own: number[] = [];
    for (const item of items) {
      own.push(item);
      pass(itemMs);
    }
    return () => void done.push(own);
  };
  await steps.runAll([1, 2, 3, 4], 4, work(STEP_MS / 2));
  t.strictSame(done.splice(0), [[1, 2, 3], [4]]);
  await steps.runAll([1, 2], 2, work(10 * STEP_MS));
  t.strictSame(done.splice(0), [[1], [2]]);
  await steps.runAll([1, 2, 3], 2, work(0));
  t.strictSame(done, [[1, 2], [3]]);
});

t.test('behind a reader each step waits until the WAL can be checkpointed', async (t) => {
  const { folder, db, make: makeSteps } = make(t);
  const reader = otherConnection(t, folder);
  reader.exec('BEGIN; SELECT count(*) FROM session');
  fillWal(db, 4_200);
  let waits = 0;
  const steps = makeSteps(() => {
    if (++waits === 3) reader.exec('COMMIT');
    if (waits > 10) throw new Error('waits for ever');
  });
  await steps.run(() => {});
  await steps.run(() => {});
  t.equal(waits, 3);
});

t.test(
  'pages are given back in larger steps while these are fast, and in the smallest while they are slow',
  async (t) => {
    for (const [lookMs, isFast] of [
      [0, true],
      [STEP_MS + 1, false],
    ] as const) {
      const { committer, pass } = make(t);
      committer.append(...court(event({ note: 'x'.repeat(400_000) })));
      const { now } = performance;
      setClock(t, () => {
        pass(lookMs);
        return now();
      });
      const freed = [0];
      await committer.prune({ beforeMs: Date.now() + 1e9, nowMs: Date.now() + 2e9 }, (doing, bytes) => {
        if (doing === 'pages') freed.push(bytes);
      });
      const pages = freed.slice(1).map((bytes, i) => (bytes - freed[i]!) / 4_096);
      t.ok(pages.length > 3, `${pages}`);
      t.equal(Math.max(...pages) > 8, isFast, `${pages}`);
    }
  },
);

t.test(
  'a locked database is tried for five seconds, a full disk four times, and nothing else again',
  async (t) => {
    const { steps } = make(t);
    for (const [code, expected] of [
      ['SQLITE_BUSY', 1_000],
      ['SQLITE_FULL', 4],
      ['SQLITE_IOERR_READ', 1],
    ] as const) {
      let attempts = 0;
      const failing = steps.run(() => {
        attempts++;
        throw new Database.SqliteError('fails', code);
      });
      await t.rejects(failing, { code });
      t.equal(attempts, expected, code);
    }
    t.ok(steps.isDiskFull);
  },
);

t.test('the disk is full until there is room for the reserve again', async (t) => {
  const { steps } = make(t);
  let attempts = 0;
  await steps.run(() => {
    if (++attempts === 1) throw new Database.SqliteError('full', 'SQLITE_FULL');
  });
  const { statfsSync } = fs;
  t.teardown(() => Object.assign(fs, { statfsSync }));
  Object.assign(fs, { statfsSync: () => ({ bavail: 1, bsize: 4_096 }) });
  await steps.checkpoint();
  t.ok(steps.isDiskFull);
  Object.assign(fs, { statfsSync });
  await steps.checkpoint();
  t.notOk(steps.isDiskFull);
});
