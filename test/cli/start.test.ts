import path from 'node:path';
import t from 'tap';
import { cleanEnvironment, courtd, run, temporaryFolder } from '../harness/daemon.ts';

import { COMMAND, started } from '../harness/npmStart.ts';

t.test('it listens on this machine alone, unless it is told otherwise', async (t) => {
  for (const [told, host] of [
    [{}, '127.0.0.1'],
    [{ COURTD_HOST: '0.0.0.0' }, '0.0.0.0'],
  ] as const) {
    const { lines, child } = await started(t, path.join(temporaryFolder(t), 'data'), told);
    const listening = lines.find((line) => line.includes('"listening"')) ?? '{}';
    t.equal(JSON.parse(listening).host, host);
    child.kill('SIGKILL');
  }
});

t.test('a second one beside it says that there is one, and changes no token', async (t) => {
  const data = path.join(temporaryFolder(t), 'data');
  const { child, exited } = await started(t, data);
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
