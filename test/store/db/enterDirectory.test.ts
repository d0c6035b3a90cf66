import fs from 'node:fs';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { enterDirectory } from '../../../src/store/db/enterDirectory.ts';
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
