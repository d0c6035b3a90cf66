import fs from 'node:fs';
import module from 'node:module';
import timers from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { Steps } from '../../../src/store/retention/steps.ts';
import { events } from '../../harness/events.ts';
import { Committer, court, fillWal, otherConnection, scratch } from '../../harness/scratchStore.ts';

/** Steps whose pauses take no time. */
function make(t: Test, isServing = false) {
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
  const committer = new Committer(db);
  const held: boolean[] = [];
  const holdForPrune = (isHeld: boolean) => void held.push(isHeld);
  const of = (on = () => {}) =>
    new Steps({ db, writer: { ...committer.steps, isServing, holdForPrune }, on });
  return { folder, db, committer, steps: of(), of, pauses, held };
}

t.test('while requests come, a step changes 50 rows and is followed by a pause of 25 ms', async (t) => {
  const beside = make(t, true);
  t.equal(beside.steps.rows(), 50);
  await beside.steps.run([() => {}, undefined]);
  t.strictSame(beside.pauses, [25, 25]);
  const alone = make(t);
  t.equal(alone.steps.rows(), 1_000);
  await alone.steps.run([() => {}]);
  t.strictSame(alone.pauses, [1]);
});

t.test('behind a reader each step waits until the WAL can be checkpointed', async (t) => {
  const { folder, db, of } = make(t);
  const reader = otherConnection(t, folder);
  reader.exec('BEGIN; SELECT count(*) FROM session');
  fillWal(db, 4_200);
  let waits = 0;
  const steps = of(() => {
    if (++waits === 3) reader.exec('COMMIT');
    if (waits > 10) throw new Error('waits for ever');
  });
  await steps.run([() => {}, () => {}]);
  t.equal(waits, 3);
});

t.test(
  'a locked database is tried for five seconds, a full disk four times, and nothing else again',
  async (t) => {
    const { steps, held } = make(t);
    for (const [code, expected] of [
      ['SQLITE_BUSY', 1_000],
      ['SQLITE_FULL', 4],
      ['SQLITE_IOERR_READ', 1],
    ] as const) {
      let attempts = 0;
      const fail = () => {
        attempts++;
        throw new Database.SqliteError('fails', code);
      };
      await t.rejects(steps.run([fail]), { code });
      t.equal(attempts, expected, code);
    }
    t.strictSame(held, [true], 'events are rejected on a full disk');
    steps.end();
    t.strictSame(held, [true, false]);
  },
);

t.test(
  'on a full disk, free pages go back until there is room for the reserve and as much again',
  async (t) => {
    const { db, committer, steps, held } = make(t);
    for (let i = 0; i < 8; i++) committer.append(...court(...events(500, { note: 'x'.repeat(2_000) })));
    const pages = () => db.pragma('page_count', { simple: true }) as number;
    const before = pages();
    const { statfsSync } = fs;
    t.teardown(() => Object.assign(fs, { statfsSync }));
    Object.assign(fs, { statfsSync: () => ({ bavail: before - pages(), bsize: 16_384 }) });
    let isFull = true;
    const step = () => {
      if (isFull) {
        isFull = false;
        throw new Database.SqliteError('full', 'SQLITE_FULL');
      }
      db.exec('DELETE FROM event');
    };
    await steps.run([step]);
    t.strictSame(held, [true], 'not for a few');
    await steps.giveBack();
    t.strictSame(held, [true, false]);
    const returned = before - pages();
    t.ok(returned >= 768 && returned < 1_300, `${returned} pages of 16 KiB`);
  },
);
