import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';

/** The files of the database are taken from under the running daemon. */

/** Posts until the daemon has ended. */
async function ended(daemon: Daemon): Promise<void> {
  let isOver = false;
  void daemon.exited.then(() => {
    isOver = true;
  });
  for (; !isOver; await sleep(50)) await daemon.post(events(1)).catch(() => {});
}

const LOST = /^\S+courtd\.\S+ was removed or replaced .* Put it back/;

const CASES: readonly (readonly [what: string, move: (file: string) => void])[] = [
  ['the database is removed', (file) => fs.rmSync(file)],
  ['its directory is renamed', (file) => fs.renameSync(path.dirname(file), `${path.dirname(file)}-old`)],
  [
    'another database is moved into its place',
    (file) => {
      fs.copyFileSync(file, `${file}.copy`);
      fs.renameSync(`${file}.copy`, file);
    },
  ],
  ['its log is removed', (file) => fs.rmSync(`${file}-wal`)],
  ['its shared memory is removed', (file) => fs.rmSync(`${file}-shm`)],
  [
    'the lock that keeps another daemon out is removed',
    (file) => fs.rmSync(path.join(path.dirname(file), 'courtd.lock')),
  ],
];

for (const [what, move] of CASES) {
  t.test(
    `${what}: within seconds nothing is answered 202, and the daemon ends with a sentence`,
    async (t) => {
      const daemon = await Daemon.start(t);
      t.teardown(() => fs.rmSync(`${daemon.data}-old`, { recursive: true, force: true }));
      t.equal((await daemon.post(events(3))).status, 202);
      move(path.join(daemon.data, 'courtd.db'));
      await ended(daemon);
      t.equal(await daemon.exited, 1);
      const fatal = daemon.log.filter(({ level }) => level === 'fatal');
      t.equal(fatal.length, 1, 'said once');
      t.match(fatal, [{ reason: LOST }]);
      t.notOk(fatal[0]?.err, 'without a stack trace');
    },
  );
}
