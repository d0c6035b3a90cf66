import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { enterDirectory } from '../../../src/store/directory/dataDirectory.ts';
import { isMember } from '../../../src/store/directory/permissionHint.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

t.test('a link or a pipe is refused in the place of every file that courtd opens by name', (t) => {
  const folder = temporaryFolder(t);
  const beside = ['db', 'db-wal', 'db-shm', 'db-journal', 'lock', 'clock', 'reserve'];
  for (const name of beside.map((suffix) => path.join(folder, `courtd.${suffix}`))) {
    fs.symlinkSync('/etc/hostname', name);
    t.throws(() => enterDirectory(folder), { message: `${name} is a symbolic link` });
    fs.rmSync(name);
  }
  fs.symlinkSync('/etc/hostname', path.join(folder, 'export.csv'));
  enterDirectory(folder);
  t.end();
});

t.test("a user is in its own group, whether or not that group's line names it", (t) => {
  // The first line of every /etc/passwd; that of the group names nobody.
  t.equal(isMember(0, 0), true);
  t.equal(isMember(0, 87_654_321), false);
  t.equal(isMember(87_654_321, 0), true, 'of whom nothing is known');
  t.end();
});
