import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import type { Status } from '../../src/health/boxStatus.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** A directory without a database: of a new box, or where one was. */

const NEW = (line: object) => 'problem' in line && line.problem === 'new_database';
async function problemsOf(data: string): Promise<Status['problems']> {
  const { stdout } = await courtd(['status', '--json', '--data', data]);
  return (JSON.parse(stdout) as Status).problems;
}

t.test('a database that serve makes is said in its log, and in status for a day', async (t) => {
  const data = path.join(temporaryFolder(t), 'data');
  const first = await Daemon.run(t, data, '');
  t.match(await first.logged(NEW), { level: 'warn', data });
  await first.stop();
  const again = await Daemon.run(t, data, '');
  t.equal(again.timesLogged(NEW), 0, 'said once');
  t.match((await problemsOf(data)).at(-1), { code: 'new_database', level: 'warn' }, 'behind what is urgent');
  const note = path.join(data, 'courtd.new');
  fs.writeFileSync(note, `${new Date(Date.now() - 25 * 3_600_000).toISOString()}\n`);
  t.notMatch(await problemsOf(data), [{ code: 'new_database' }], 'the day is over');
});

t.test('one that token rotate makes, or that is restored, is no surprise', async (t) => {
  const daemon = await Daemon.start(t);
  t.equal(daemon.timesLogged(NEW), 0);
  t.notMatch(await problemsOf(daemon.data), [{ code: 'new_database' }]);
  await daemon.stop();
  const backup = path.join(temporaryFolder(t), 'backup.db');
  await daemon.command('backup', backup);
  const data = path.join(temporaryFolder(t), 'data');
  const made = await Daemon.run(t, data, '');
  await made.stop();
  t.equal((await courtd(['restore', backup, '--data', data])).status, 0);
  t.notMatch(await problemsOf(data), [{ code: 'new_database' }]);
});

t.test(
  'a first start that was killed, and a restore that was refused, leave nothing in the way',
  async (t) => {
    const data = temporaryFolder(t);
    fs.writeFileSync(path.join(data, 'courtd.db'), '');
    await (await Daemon.run(t, data, '')).stop();
    const other = path.join(temporaryFolder(t), 'data');
    const broken = path.join(temporaryFolder(t), 'broken.db');
    const whole = fs.readFileSync(path.join(data, 'courtd.db'));
    fs.writeFileSync(broken, whole.subarray(0, whole.length / 2));
    t.match(await courtd(['restore', broken, '--data', other]), { status: 1, stderr: /is damaged/ });
    await (await Daemon.run(t, other, '')).stop();
  },
);
