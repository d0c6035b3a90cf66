import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';

runInProcess();

t.test(
  'a file that a command writes is closed to others, and never more open than the umask says',
  async (t) => {
    const box = stoppedBox(t);
    const usual = process.umask();
    t.teardown(() => process.umask(usual));
    for (const [umask, mode] of [
      [0o000, 0o640],
      [0o022, 0o640],
      [0o077, 0o600],
    ] as const) {
      const folder = temporaryFolder(t);
      process.umask(umask);
      const file = (name: string) => path.join(folder, name);
      const existing = file('old.csv');
      fs.writeFileSync(existing, 'open to everybody', { mode: 0o644 });
      for (const args of [
        ['export', 'session-1', '-o', existing],
        ['export', 'session-1', '--format', 'xlsx', '-o', file('s.xlsx')],
        ['export', '--since', '2000-01-01', '-o', `${file('day')}/`],
        ['report', 'session-1', '-o', file('s.html')],
        ['support', '-o', file('support.txt')],
      ]) {
        t.match(await box.command(...args), { status: 0 }, args.join(' '));
      }
      const names = fs
        .readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => fs.statSync(file(name)).isFile());
      t.equal(names.length, 5);
      for (const name of names) t.equal(fs.statSync(file(name)).mode & 0o777, mode, name);
    }
  },
);
