import Database from 'better-sqlite3';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { isServed, lockDirectory } from '../../../src/store/db/directoryLock.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

t.test('a directory has one daemon, and a start waits for a process that only checks the lock', (t) => {
  const folder = temporaryFolder(t);
  t.equal(isServed(new DataDirectory(folder)), false);
  const lock = lockDirectory(new DataDirectory(folder));
  t.equal(isServed(new DataDirectory(folder)), true);
  t.throws(() => lockDirectory(new DataDirectory(folder)), { message: / or "courtd restore" is using / });
  t.ok((lock.pragma('busy_timeout', { simple: true }) as number) >= 100);
  lock.close();
  t.equal(isServed(new DataDirectory(folder)), false);
  t.end();
});

t.test('two commands that look for a daemon do not take each other for one', (t) => {
  const directory = new DataDirectory(temporaryFolder(t));
  lockDirectory(directory).close();
  const other = new Database(directory.file('lock'));
  other.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  t.equal(isServed(directory), false);
  other.close();
  t.end();
});
