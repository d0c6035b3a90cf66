import module from 'node:module';
import timers from 'node:timers/promises';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { Steps } from '../../../src/store/keep/steps.ts';
import { Committer, scratch } from '../../harness/scratchStore.ts';

/** Steps whose pauses take no time. A reader, and a full disk: prune-reader.proof.ts and full-heals.proof.ts in test/failures. */
function make(t: Test, isServing = false) {
  const { setTimeout } = timers;
  t.teardown(() => {
    timers.setTimeout = setTimeout;
    module.syncBuiltinESMExports();
  });
  const pauses: unknown[] = [];
  timers.setTimeout = (async (ms: number) => void pauses.push(ms)) as typeof setTimeout;
  module.syncBuiltinESMExports();
  const { db } = scratch(t);
  db.pragma('busy_timeout = 0');
  const held = new Set<string>();
  const hold = (reason: string, isHeld: boolean) => void (isHeld ? held.add(reason) : held.delete(reason));
  const writer = { ...new Committer(db).steps, isServing, hold };
  return { steps: new Steps({ db, writer, on: () => {} }), pauses, held };
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

t.test('a locked database and a full disk are tried for five seconds, and nothing else again', async (t) => {
  const { steps, held } = make(t);
  for (const [code, expected] of [
    ['SQLITE_BUSY', 100],
    ['SQLITE_FULL', 100],
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
  t.strictSame([...held], ['full'], 'events are rejected on a full disk');
  await steps.end();
  t.strictSame([...held], []);
});
