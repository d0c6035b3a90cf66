import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { Daemon, type LogLine, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const isLow = ({ problem }: LogLine) => problem === 'disk_low';

t.test('the log names the older databases that may go when the disk fills up', async (t) => {
  const first = await Daemon.start(t);
  t.equal((await first.post(event())).status, 202);
  const backup = path.join(temporaryFolder(t), 'backup.db');
  t.equal((await first.command('backup', backup)).status, 0);
  await first.stop();
  const { stderr } = await first.command('restore', backup);
  const replaced = path.basename(/is kept as (\S+):/.exec(stderr)?.[1] ?? '');
  fs.writeFileSync(path.join(first.data, `${replaced}-wal`), Buffer.alloc(1024 ** 2));
  fs.writeFileSync(path.join(first.data, 'courtd.db.layout-1'), Buffer.alloc(2 * 1024 ** 2));
  const daemon = await Daemon.run(t, first.data, first.token, ['--min-free', '1000000GiB']);
  const files = ['courtd.db.layout-1', replaced];
  t.match(await daemon.logged(isLow), { may_go: files, may_go_mib: 3 });
});

t.test(
  'a symbolic link with such a name, which leads to itself, keeps no daemon from being ready',
  async (t) => {
    const first = await Daemon.start(t);
    await first.stop();
    fs.symlinkSync('courtd.db.replaced-loop', path.join(first.data, 'courtd.db.replaced-loop'));
    const daemon = await Daemon.run(t, first.data, first.token, ['--min-free', '1000000GiB']);
    const files = ['courtd.db.replaced-loop'];
    t.match(await daemon.logged(isLow), { may_go: files });
    t.equal(await daemon.stop(), 0);
  },
);
