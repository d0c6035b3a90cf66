import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';
import t from 'tap';
import { cleanEnvironment, courtd, run, start, temporaryFolder } from '../daemon.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const COMMAND = [path.join(ROOT, 'node_modules/.bin/node'), [path.join(ROOT, 'scripts/start.ts')]] as const;

const withCurl = { skip: (await run('curl', ['--version'])).status !== 0 && 'there is no curl here' };

/** `npm start` on a data directory, until it has printed its command and the line after that. */
async function started(t: Parameters<typeof temporaryFolder>[0], data: string) {
  const env = cleanEnvironment({ COURTD_DATA: data, COURTD_PORT: '0', COURTD_HOST: '127.0.0.1' });
  const child = start(...COMMAND, { env });
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  let curl = '';
  for await (const line of readline.createInterface(child.stdout)) {
    lines.push(line);
    if (lines.at(-2)?.startsWith('curl ')) {
      curl = lines.at(-2) ?? '';
      break;
    }
  }
  return { curl, lines, child, exited };
}

t.test(
  'npm start prints a curl command on a line of its own that posts one event, ready to paste',
  withCurl,
  async (t) => {
    const data = path.join(temporaryFolder(t), 'data');
    const { curl, lines, child, exited } = await started(t, data);
    t.equal(lines.at(-1), '', 'an empty line follows');
    const answers = [await run('/bin/sh', ['-c', curl]), await run('/bin/sh', ['-c', curl])];
    t.match(answers, [
      { status: 0, stdout: '{"accepted":1,"duplicates":0}', stderr: '' },
      { status: 0, stdout: '{"accepted":0,"duplicates":1}', stderr: '' },
    ]);
    child.kill('SIGTERM');
    t.strictSame(await exited, [0, null]);
  },
);

t.test(
  'each start issues a fresh token and a fresh event_id; the older token keeps 24 h',
  withCurl,
  async (t) => {
    const data = path.join(temporaryFolder(t), 'data');
    const secrets: string[] = [];
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { curl, child, exited } = await started(t, data);
      secrets.push(
        /Bearer ([\w-]{43})'/.exec(curl)?.[1] ?? '',
        /"event_id":"([0-9a-f]{24})"/.exec(curl)?.[1] ?? '',
      );
      const { stdout } = await run('/bin/sh', ['-c', curl]);
      t.equal(stdout, '{"accepted":1,"duplicates":0}', signal);
      child.kill(signal);
      t.strictSame(await exited, [0, null], signal);
    }
    t.equal(new Set(secrets).size, 4);
    t.notOk(secrets.includes(''));
    const { stdout } = await courtd(['token', 'list', '--json', '--data', data]);
    const [older, newest] = JSON.parse(stdout);
    t.match([older.state, newest.state], ['retiring', 'active']);
    t.equal(Date.parse(older.expires_at) - Date.parse(newest.created_at), 86_400_000);
  },
);

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
