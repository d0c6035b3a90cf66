import path from 'node:path';
import t from 'tap';
import { cleanEnvironment, courtd, run, temporaryFolder } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { COMMAND, started } from '../harness/npmStart.ts';

runInProcess();

function hostOf(lines: readonly string[]): string {
  return JSON.parse(lines.find((line) => line.includes('"listening"')) ?? '{}').host;
}

t.test('it listens where it is told', async (t) => {
  const { lines } = await started(t, path.join(temporaryFolder(t), 'data'), { COURTD_HOST: '0.0.0.0' });
  t.equal(hostOf(lines), '0.0.0.0');
});

t.test('untold, it listens on this machine alone; a second one says so, and changes no token', async (t) => {
  const data = path.join(temporaryFolder(t), 'data');
  const { child, exited, lines } = await started(t, data);
  t.equal(hostOf(lines), '127.0.0.1');
  const tokens = await courtd(['token', 'list', '--json', '--data', data]);
  const env = cleanEnvironment({ COURTD_DATA: data, COURTD_PORT: '0' });
  const { status, stdout, stderr } = await run(...COMMAND, { env });
  t.strictSame({ status, stdout }, { status: 1, stdout: '' });
  t.match(stderr, /^courtd: Another "courtd serve" uses [^\n]+: stop it first [^\n]+\n$/);
  t.strictSame(await courtd(['token', 'list', '--json', '--data', data]), tokens);
  t.equal(JSON.parse(tokens.stdout).length, 1);
  child.kill('SIGTERM');
  t.strictSame(await exited, [0, null]);
});

t.test('npm start takes the flags of serve, and tells what is wrong with them', async (t) => {
  const { status, stdout, stderr } = await run(COMMAND[0], [
    ...COMMAND[1],
    '--port',
    'http',
    '--data',
    temporaryFolder(t),
  ]);
  t.strictSame({ status, stdout }, { status: 2, stdout: '' });
  t.match(stderr, /--port/);
});
