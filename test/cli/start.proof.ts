import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import t from 'tap';
import { type Cleanup, cleanEnvironment, courtd, run, start, temporaryFolder } from '../harness/daemon.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** What `npm start` runs. */
const COMMAND = [path.join(ROOT, 'node_modules/.bin/node'), [path.join(ROOT, 'scripts/start.ts')]] as const;

/** `npm start` on a data directory, until it has printed its command and listens. */
async function started(t: Cleanup, data: string) {
  const env = cleanEnvironment({ COURTD_DATA: data, COURTD_PORT: '0' });
  const child = start(...COMMAND, { env });
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  let curl = '';
  for await (const line of readline.createInterface(child.stdout)) {
    lines.push(line);
    if (line.startsWith('curl ')) curl = line;
    // A thread writes the log: its line may come after the command.
    if (curl !== '' && lines.some((one) => one.includes('"listening"'))) break;
  }
  return { curl, lines, child, exited };
}

const withCurl = { skip: (await run('curl', ['--version'])).status !== 0 && 'there is no curl here' };

function tokenIn(curl: string): string {
  return /Bearer ([\w-]{43})'/.exec(curl)?.[1] ?? '';
}

t.test(
  'each start has a fresh event_id and the token of the first one, which is kept in a file of its own',
  withCurl,
  async (t) => {
    const data = path.join(temporaryFolder(t), 'data');
    const [tokens, ids] = [new Set<string>(), new Set<string>()];
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) {
      const { curl, child, exited, lines } = await started(t, data);
      t.ok(
        lines.some((line) =>
          /"listening".*"host":"127\.0\.0\.1"|"host":"127\.0\.0\.1".*"listening"/.test(line),
        ),
      );
      tokens.add(tokenIn(curl));
      ids.add(/"event_id":"([0-9a-f]{24})"/.exec(curl)?.[1] ?? '');
      const { stdout } = await run('/bin/sh', ['-c', curl]);
      t.equal(stdout, '{"accepted":1,"duplicates":0}\n', signal);
      child.kill(signal);
      t.strictSame(await exited, [0, null], signal);
    }
    t.equal(ids.size, 3);
    t.equal(tokens.size, 1);
    const file = path.join(data, 'npm-start.token');
    t.equal(fs.readFileSync(file, 'utf8'), `${[...tokens][0]}\n`);
    t.equal(fs.statSync(file).mode & 0o777, 0o600);
    const { stdout } = await courtd(['token', 'list', '--json', '--data', data]);
    t.match(JSON.parse(stdout), [{ id: 1, state: 'active' }]);
    t.equal(JSON.parse(stdout).length, 1);

    await courtd(['token', 'revoke', '1', '--data', data]);
    const { curl, child } = await started(t, data);
    t.notOk(tokens.has(tokenIn(curl)), 'one that does not work any more is replaced');
    const again = await run('/bin/sh', ['-c', curl]);
    t.equal(again.stdout, '{"accepted":1,"duplicates":0}\n');
    child.kill('SIGKILL');
  },
);
