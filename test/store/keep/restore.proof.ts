import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { restoreDatabase } from '../../../src/store/keep/restoreDatabase.ts';
import { BIN, courtd, temporaryFolder } from '../../harness/daemon.ts';

t.test(
  'a process that opens the database during a restore fails, and leaves no WAL for the new one',
  async (t) => {
    const data = temporaryFolder(t);
    const file = path.join(temporaryFolder(t), 'backup.db');
    await courtd(['token', 'rotate', '--data', data]);
    await courtd(['backup', file, '--data', data]);
    const replaced = fs.readFileSync(path.join(data, 'courtd.db'));
    const { renameSync } = fs;
    t.teardown(() => Object.assign(fs, { renameSync }));
    let other: unknown;
    fs.renameSync = (from, to) => {
      // Locks are of a process: another one has to try.
      other = spawnSync(BIN, ['token', 'rotate', '--data', data], { encoding: 'utf8' });
      renameSync(from, to);
    };
    const { previousDatabase } = await restoreDatabase(new DataDirectory(data), file);
    t.match(other, { status: 1, stdout: '', stderr: /is locked by another program\. Try again when/ });
    t.strictSame(
      fs.readdirSync(data).filter((name) => /^courtd\.db(-.*)?$/.test(name)),
      ['courtd.db'],
    );
    t.equal(fs.readFileSync(previousDatabase!).length, replaced.length);
    t.equal(fs.statSync(previousDatabase!).mode & 0o777, 0o660);
  },
);
