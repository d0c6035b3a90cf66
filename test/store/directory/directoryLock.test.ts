import t from 'tap';
import { isServed, lockDirectory } from '../../../src/store/directory/directoryLock.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

t.test('a directory has one daemon, which waits out whoever only looks whether there is one', (t) => {
  const folder = temporaryFolder(t);
  t.equal(isServed(folder), false);
  const lock = lockDirectory(folder);
  t.equal(isServed(folder), true);
  t.throws(() => lockDirectory(folder), { message: /^Another "courtd serve" uses / });
  t.ok((lock.pragma('busy_timeout', { simple: true }) as number) >= 100);
  lock.close();
  t.equal(isServed(folder), false);
  t.end();
});
