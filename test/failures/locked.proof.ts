import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { storedIds } from '../harness/cameras.ts';
import { type Cleanup, Daemon } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { answerOf } from '../harness/rawClient.ts';

/** Another program that takes the write lock. */
function locker(t: Cleanup, daemon: Daemon) {
  const other = new Database(path.join(daemon.data, 'courtd.db'), { timeout: 0 });
  t.teardown(() => other.close());
  return { lock: () => other.exec('BEGIN IMMEDIATE'), release: () => other.exec('ROLLBACK') };
}

t.test('a locked database: 503 after a while, others are answered meanwhile, and it heals', async (t) => {
  const daemon = await Daemon.start(t);
  t.equal((await daemon.post(events(1))).status, 202);
  const { lock, release } = locker(t, daemon);
  lock();
  const batch = events(20);
  let isOver = false;
  const busy = answerOf(daemon.post(batch)).finally(() => {
    isOver = true;
  });
  let others = 0;
  for (; !isOver; others++) {
    const { status } = await daemon.post('[]');
    if (status !== 202) t.fail(`${status}`);
  }
  const answer = await busy;
  checkProblem(t, answer, 503, 'storage_busy', 'after a retry');
  t.equal(answer.headers.get('retry-after'), '1');
  t.ok(others >= 3, `${others} answers meanwhile`);
  release();
  t.equal((await answerOf(daemon.post(batch))).body, '{"accepted":20,"duplicates":0}');
  t.equal((await storedIds(daemon)).length, 21);
});
