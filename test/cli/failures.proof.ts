import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { BIN, courtd, run, temporaryFolder } from '../harness/daemon.ts';
import { openProgram } from '../harness/openProgram.ts';
import { MAKERS, READERS, rotated, snapshot, tryDirectoryFaults, tryPipes } from './directoryFaults.ts';

tryDirectoryFaults(t, 1);
tryPipes(t, (backup) =>
  ['courtd.db', 'courtd.db-journal'].flatMap((name) =>
    [
      ['session', 'list'],
      ['restore', backup],
    ].map((args) => [name, args] as const),
  ),
);

const NOBODY = 65_534;
const asNobody = { uid: NOBODY, gid: NOBODY, cwd: '/' };
const isRoot = process.getuid?.() === 0;
openProgram();

t.test(
  'a data directory that is not accessible to this user: one sentence, status 1, nothing is changed',
  async (t) => {
    const folder = temporaryFolder(t);
    const data = await rotated(folder);
    const backup = path.join(temporaryFolder(t), 'backup.db');
    await courtd(['backup', backup, '--data', data]);
    fs.chmodSync(path.dirname(backup), 0o755);
    fs.chmodSync(backup, 0o644);
    const user = isRoot ? asNobody : {};
    // First the directory itself, then the one around it.
    for (const [closed, open] of [
      [data, folder],
      [folder, data],
    ] as const) {
      fs.chmodSync(open, 0o755);
      fs.chmodSync(closed, 0o000);
      const before = isRoot ? snapshot(folder) : [];
      for (const command of [...READERS, ...MAKERS, ['restore', backup]]) {
        const { status, stdout, stderr } = await run(BIN, [...command, '--data', data], user);
        t.strictSame({ status, stdout }, { status: 1, stdout: '' }, command.join(' '));
        t.match(stderr, /^courtd: [^\n]*data is not accessible to this user: [^\n]+\n$/, command.join(' '));
      }
      if (isRoot) t.strictSame(snapshot(folder), before);
      fs.chmodSync(closed, 0o755);
    }
  },
);
