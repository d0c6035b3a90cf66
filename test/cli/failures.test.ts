import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { BIN, courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { rotated, snapshot, tryTroubles, withFile } from './troubles.ts';

runInProcess();

// A third of them in turn; failures.proof.ts tries all.
tryTroubles(t, 3);

t.test('a pipe in the place of a file: one sentence, and nobody waits for its other end', async (t) => {
  const data = await rotated(temporaryFolder(t));
  const backup = path.join(temporaryFolder(t), 'backup.db');
  await courtd(['backup', backup, '--data', data]);
  for (const name of ['courtd.db', 'courtd.db-journal', 'courtd.clock']) {
    const [pipe, away] = [path.join(data, name), path.join(data, 'away')];
    if (fs.existsSync(pipe)) fs.renameSync(pipe, away);
    await run('mkfifo', ['-m', '660', pipe]);
    for (const args of [
      ['session', 'list'],
      ['restore', backup],
      ['prune', '--yes', '--older-than', '1d'],
    ]) {
      const { status, stderr } = await run('timeout', ['-s', 'KILL', '120', BIN, ...args, '--data', data]);
      const what = `${args.join(' ')} over ${name}`;
      t.equal(status, 1, what);
      t.match(stderr, /^courtd: \S+ is a pipe, a socket or a device, [^\n]+: remove it\.\n$/, what);
    }
    fs.rmSync(pipe);
    if (fs.existsSync(away)) fs.renameSync(away, pipe);
  }
});

t.test('an empty file is set up by what makes a database', async (t) => {
  const data = withFile(temporaryFolder(t), '');
  t.equal((await courtd(['token', 'rotate', '--data', data])).status, 0);
  t.equal((await courtd(['session', 'list', '--json', '--data', data])).stdout, '[]\n');
});

t.test(
  'a session or an event that does not exist: one sentence, status 1, and no file is made',
  async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.post(event({ session_id: 'known' }));
    await daemon.stop();
    const before = snapshot(daemon.data);
    const file = path.join(daemon.data, 'out.csv');
    const commands = [
      ['session', 'show', 'no "such"'],
      ['event', 'show', 'no "such"', 'e'],
      ['export', 'no "such"', '-o', file],
    ];
    for (const command of commands) {
      const { status, stdout, stderr } = await daemon.command(...command);
      t.strictSame({ status, stdout }, { status: 1, stdout: '' }, command.join(' '));
      t.match(stderr, /^courtd: There is no [^\n]*session "no \\"such\\""[^\n]*\n$/);
      t.strictSame(snapshot(daemon.data), before, command.join(' '));
    }
    t.match(await daemon.command('event', 'show', 'known', 'e'), {
      status: 1,
      stderr: /no event "e" in session "known"/,
    });
    t.match(await daemon.command('token', 'revoke', '7'), { status: 1, stderr: /There is no token 7: / });
  },
);
