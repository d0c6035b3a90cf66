import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { Daemon, type LogLine } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const isLow = ({ problem }: LogLine) => problem === 'disk_low';

t.test(
  'a symbolic link with such a name, which leads to itself, keeps no daemon from being ready',
  async (t) => {
    const first = await Daemon.start(t);
    await first.stop();
    fs.symlinkSync('courtd.db.replaced-loop', path.join(first.data, 'courtd.db.replaced-loop'));
    const daemon = await Daemon.run(t, first.data, first.token, ['--min-free', '1000000GiB']);
    await daemon.logged(isLow);
    t.equal(await daemon.stop(), 0);
  },
);
