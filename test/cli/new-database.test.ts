import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

t.test(
  'a first start that was killed, and a restore that was refused, leave nothing in the way',
  async (t) => {
    const data = temporaryFolder(t);
    fs.writeFileSync(path.join(data, '.courtd.db.99999999.partial'), '');
    await (await Daemon.run(t, data, '')).stop();
    const other = path.join(temporaryFolder(t), 'data');
    const broken = path.join(temporaryFolder(t), 'broken.db');
    const whole = fs.readFileSync(path.join(data, 'courtd.db'));
    fs.writeFileSync(broken, whole.subarray(0, whole.length / 2));
    t.match(await courtd(['restore', broken, '--data', other]), { status: 1, stderr: /is damaged/ });
    await (await Daemon.run(t, other, '')).stop();
  },
);
