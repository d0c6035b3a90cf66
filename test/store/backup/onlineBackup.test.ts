import fs from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import workerThreads from 'node:worker_threads';
import t, { type Test } from 'tap';
import { OperatorError } from '../../../src/base/operatorError.ts';
import { copyDatabase } from '../../../src/store/backup/onlineBackup.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { scratch } from '../../harness/scratchStore.ts';

/** From now on a worker runs this program in the place of its own. */
function replaceWorker(t: Test, program: string): void {
  const { Worker } = workerThreads;
  workerThreads.Worker = class extends Worker {
    constructor() {
      super(program, { eval: true });
    }
  };
  module.syncBuiltinESMExports();
  t.teardown(() => {
    workerThreads.Worker = Worker;
    module.syncBuiltinESMExports();
  });
}

const answering = (answer: object) =>
  `require('node:worker_threads').parentPort.postMessage(${JSON.stringify(answer)})`;

/** What cannot be had without a disk of one's own, or cannot be had at all. */
const FAILURES: readonly [what: string, program: string, error: unknown][] = [
  [
    'the disk of the copy is full',
    answering({ message: 'database or disk is full', code: 'SQLITE_FULL' }),
    /^The disk of \S+ is full: free some space there, or choose another place\.$/,
  ],
  [
    'the copy is not what was written',
    answering({ invalid: 'is incomplete' }),
    /^The copy written to \S+\.db is incomplete: it was removed\. Check its disk; "courtd check --full" says whether the database is damaged too\.$/,
  ],
  ['the database cannot be read', answering({ message: 'locked', code: 'SQLITE_BUSY' }), 'SQLITE_BUSY'],
  ['the worker says nothing', 'process.exit()', 'the backup worker ended without an answer'],
];

t.test('a database that is not in WAL mode has been put there meanwhile, and is not read', async (t) => {
  const { folder, db } = scratch(t);
  db.pragma('journal_mode = DELETE');
  db.close();
  const target = temporaryFolder(t);
  const copying = copyDatabase(path.join(folder, 'courtd.db'), path.join(target, 'copy.db'));
  await t.rejects(copying, { code: 'SQLITE_BUSY', message: 'another file has replaced the database' });
  t.strictSame(fs.readdirSync(target), []);
});

for (const [what, program, expected] of FAILURES) {
  t.test(`${what}: it is told, and nothing is left behind`, async (t) => {
    const { folder } = scratch(t);
    const target = temporaryFolder(t);
    replaceWorker(t, program);
    const failure = await copyDatabase(path.join(folder, 'courtd.db'), path.join(target, 'copy.db')).catch(
      (error) => error,
    );
    t.equal(failure instanceof OperatorError, expected instanceof RegExp);
    t.match(expected instanceof RegExp ? failure.message : (failure.code ?? failure.message), expected);
    t.strictSame(fs.readdirSync(target), []);
  });
}
