import fs from 'node:fs';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { enterDirectory } from '../../../src/store/directory/enterDirectory.ts';
import { isMember } from '../../../src/store/directory/permissionHint.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

t.test('a link or a pipe is refused in the place of every file that courtd opens by name', (t) => {
  const directory = new DataDirectory(temporaryFolder(t));
  for (const name of directory.ownFiles()) {
    fs.symlinkSync('/etc/hostname', name);
    t.throws(() => enterDirectory(directory), { message: `${name} is a symbolic link` });
    fs.rmSync(name);
  }
  fs.symlinkSync('/etc/hostname', directory.at('export.csv'));
  enterDirectory(directory);
  t.end();
});

t.test("a user is in its own group, whether or not that group's line names it", (t) => {
  // The first line of every /etc/passwd; that of the group names nobody.
  t.equal(isMember(0, 0), true);
  t.equal(isMember(0, 87_654_321), false);
  t.equal(isMember(87_654_321, 0), true, 'of whom nothing is known');
  t.end();
});
