import path from 'node:path';
import t from 'tap';
import { courtd, temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { snapshot, tryDirectoryFaults, tryPipes, withFile } from './directoryFaults.ts';

runInProcess();

// A third of them in turn; failures.proof.ts tries all.
tryDirectoryFaults(t, 3);

tryPipes(t, (backup) => [
  ['courtd.db', ['restore', backup]],
  ['courtd.db-journal', ['session', 'list']],
]);

t.test('an empty file is set up by what makes a database', async (t) => {
  const data = withFile(temporaryFolder(t), '');
  t.equal((await courtd(['token', 'rotate', '--data', data])).status, 0);
  t.equal((await courtd(['session', 'list', '--json', '--data', data])).stdout, '[]\n');
});

t.test(
  'a session or an event that does not exist: one sentence, status 1, and no file is made',
  async (t) => {
    const box = stoppedBox(t, 1, { session_id: 'known' });
    const before = snapshot(box.data);
    const file = path.join(box.data, 'out.csv');
    const commands = [
      ['session', 'show', 'no "such"'],
      ['event', 'show', 'no "such"', 'e'],
      ['export', 'no "such"', '-o', file],
    ];
    for (const command of commands) {
      const { status, stdout, stderr } = await box.command(...command);
      t.strictSame({ status, stdout }, { status: 1, stdout: '' }, command.join(' '));
      t.match(stderr, /^courtd: There is no [^\n]*session "no \\"such\\""[^\n]*\n$/);
      t.strictSame(snapshot(box.data), before, command.join(' '));
    }
    t.match(await box.command('event', 'show', 'known', 'e'), {
      status: 1,
      stderr: /no event "e" in session "known"/,
    });
    t.match(await box.command('token', 'revoke', '7'), { status: 1, stderr: /There is no token 7: / });
  },
);
