import fs from 'node:fs';
import path from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Ajv } from 'ajv';
import t, { type Test } from 'tap';
import { CHECKS } from '../../src/health/checks/allChecks.ts';
import {
  BIN,
  type CommandResult,
  cleanEnvironment,
  courtd,
  Daemon,
  run,
  temporaryFolder,
} from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { withoutRoot } from '../harness/needs.ts';
import { openProgram } from '../harness/openProgram.ts';

runInProcess();

/** What `courtd check --json` prints: programs rely on it. */
const RESULTS = Type.Array(
  Type.Object(
    {
      name: Type.String({ pattern: '^[a-z_]+$' }),
      level: Type.Union([Type.Literal('ok'), Type.Literal('warn'), Type.Literal('fail')]),
      message: Type.String({ pattern: '[^.]\\.$' }),
      advice: Type.String(),
    },
    { additionalProperties: false },
  ),
);
type Result = Static<typeof RESULTS>[number];
const isResults = new Ajv().compile(RESULTS);

/** What a check says that has taken too long; whoever reads it runs the command again. */
const TOO_SLOW =
  /could not be read in time|did not come to an end|does not answer within|has not answered for/;

/** Runs a command with checks, on a slow machine up to five times. */
async function patiently(command: () => Promise<CommandResult>): Promise<CommandResult> {
  for (let again = 4; ; again--) {
    const result = await command();
    if (again === 0 || !TOO_SLOW.test(result.stdout)) return result;
  }
}

/** Runs every check. @returns what each has found. */
async function check(
  t: Test,
  system: FakeSystemd,
  data: string,
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<Record<string, Result>> {
  const command = ['check', '--json', '--data', data, ...args];
  const { status, stdout } = await patiently(() => system.courtd(command, env));
  const results = JSON.parse(stdout) as Result[];
  t.ok(isResults(results), JSON.stringify(isResults.errors));
  t.equal(status, results.some(({ level }) => level === 'fail') ? 1 : 0, 'the exit status');
  for (const { name, level, advice } of results) t.equal(advice === '', level === 'ok', `advice of ${name}`);
  return Object.fromEntries(results.map((result) => [result.name, result]));
}

/** A data directory with a token, of no daemon. */
async function stopped(t: Test): Promise<string> {
  const folder = temporaryFolder(t);
  fs.chmodSync(folder, 0o755);
  const data = path.join(folder, 'data');
  t.match(await courtd(['token', 'rotate', '--data', data]), { status: 0 });
  return data;
}

async function used(t: Test, env: Record<string, string> = {}): Promise<Daemon> {
  const data = path.join(temporaryFolder(t), 'data');
  const daemon = await Daemon.start(t, [], data, env);
  t.equal((await daemon.post(event())).status, 202);
  return daemon;
}

t.test('a box that is as it should be: every check is ok, and says what it saw', async (t) => {
  const daemon = await used(t);
  const backups = temporaryFolder(t);
  t.match(await daemon.command('backup', backups), { status: 0 });
  const system = new FakeSystemd(t);
  system.boot(daemon.data, daemon.port, { COURTD_BACKUP_DIR: backups });
  const before = fs.readdirSync(daemon.data).sort();
  const found = await check(t, system, daemon.data);
  t.strictSame(
    Object.keys(found),
    CHECKS.map(({ name }) => name),
    'in a fixed order',
  );
  // How fast the disk of a test machine is, nobody knows.
  t.match(found.disk?.message, /[Tt]his disk takes [\d.]+ ms a sync: at most about \d+ commits a second\.$/);
  for (const { name, level, message } of Object.values(found)) {
    if (name !== 'disk') t.equal(level, 'ok', `${name}: ${message}`);
  }
  t.match(found.database?.message, /^1 event of 1 session/);
  t.match(found.port?.message, `127.0.0.1:${daemon.port}`);
  t.match(found.token?.message, /^Token 1 is active, last used at 20\S+ from 127\.0\.0\.1\.$/);
  t.strictSame(fs.readdirSync(daemon.data).sort(), before, 'nothing is left in the data directory');
  t.match(await (await daemon.post(event())).json(), { accepted: 1 }, 'the daemon goes on');
  await daemon.stop('SIGKILL');
  t.match(
    await check(t, system, daemon.data),
    { database: { level: 'ok' }, port: { level: 'fail' } },
    'after kill -9',
  );
});

t.test('where there is no database, or no directory, it says so, fails, and makes nothing', async (t) => {
  const folder = temporaryFolder(t);
  for (const data of [folder, path.join(folder, 'none')]) {
    for (const args of [[], ['--json'], ['--full']]) {
      const result = await courtd(['check', '--data', data, ...args]);
      t.match(result, { status: 1, stdout: '', stderr: /^courtd: There is no courtd database in [^\n]+\n$/ });
    }
  }
  t.strictSame(fs.readdirSync(folder), []);
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  t.match(await courtd(['check', '--data', file]), {
    status: 1,
    stdout: '',
    stderr: /^courtd: \S+ is not a directory\. Name one with --data\.\n$/,
  });
});

t.test('in words: a line a check, advice below it, and a sum', async (t) => {
  const data = await stopped(t);
  const system = new FakeSystemd(t);
  const { status, stdout, stderr } = await patiently(() => system.courtd(['check', '--data', data]));
  t.match({ status, stderr }, { status: 1, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  t.match(lines.at(-1), new RegExp(`^${CHECKS.length} checks: \\d+ ok, \\d+ warnings?, 1 failure\\.$`));
  t.equal(lines.filter((line) => /^(ok {4}|warn {2}|fail {2})\w+: \S/.test(line)).length, CHECKS.length);
  const at = lines.findIndex((line) => line.startsWith('fail  port: The daemon does not run'));
  t.match(lines[at + 1], /^ {8}Start it \(/);
  const full = await run('/bin/sh', ['-c', 'exec "$0" check --json --data "$1" >/dev/full', BIN, data]);
  t.match(
    full,
    { status: 1, stderr: /^courtd: Cannot write to standard output: / },
    'what cannot be printed',
  );
});

t.test('what is wrong with a box is found all at once, each with what to do', async (t) => {
  const data = await stopped(t);
  const system = new FakeSystemd(t);
  const file = path.join(data, 'courtd.db');
  fs.chmodSync(file, 0o664);
  system.boot(data, 1, { COURTD_VENU: 'v', COURTD_BACKUP_DIR: '/none', COURTD_MIN_FREE: '900000000GiB' });
  system.change('courtd-prune.timer', { ActiveState: 'failed' });
  system.program('timedatectl', 'echo NTPSynchronized=no');
  const fatal = { level: 'fatal', time: '2026-03-14T15:09:26.535Z', msg: 'it failed' };
  const entry = { __REALTIME_TIMESTAMP: '1773500966535000', MESSAGE: JSON.stringify(fatal) };
  system.program('journalctl', `printf '%s\\n' '${JSON.stringify(entry)}'`);
  t.match(await courtd(['token', 'revoke', '1', '--data', data]), { status: 0 });
  t.match(await check(t, system, data), {
    configuration: { level: 'warn', message: 'COURTD_VENU ', advice: 'correct COURTD_VENU;' },
    permissions: { level: 'warn', message: file, advice: 'chmod' },
    disk: { level: 'warn', message: 'COURTD_MIN_FREE', advice: 'something else fills the disk' },
    database: { level: 'ok' },
    clock: { level: 'warn', message: 'no time server', advice: 'chrony-courtd.conf' },
    port: { level: 'fail', message: 'The daemon does not run', advice: 'systemctl start courtd' },
    units: {
      level: 'warn',
      message: 'courtd-prune.timer is failed',
      advice: 'journalctl -u courtd-prune.timer',
    },
    token: { level: 'fail', message: 'There is no token', advice: 'courtd token rotate' },
    certificate: { level: 'ok' },
    backup: { level: 'fail', message: 'no directory /none', advice: 'Mount its disk' },
    log: { level: 'fail', message: 'it failed', advice: 'journalctl -u courtd' },
  });
  t.match(await system.courtd(['check', '--acknowledge', '--data', data]), {
    status: 1,
    stdout: 'log: From now on this is not told again: 1 fatal line',
  });
  t.match(await check(t, system, data), { log: { level: 'ok', message: 'No new error' } });
});

t.test(
  'root works as the owner of the data directory, and leaves nothing there',
  { skip: withoutRoot },
  async (t) => {
    const data = await stopped(t);
    for (const name of [path.join(data, 'courtd.db'), data]) fs.chownSync(name, 12_345, 12_346);
    const before = fs.readdirSync(data);
    // In a process of its own, which stays who it has become.
    openProgram();
    const env = cleanEnvironment(new FakeSystemd(t).environment());
    const command = ['check', '--full', '--json', '--data', data];
    const { stdout } = await patiently(() => run(BIN, command, { env }));
    const levels = (JSON.parse(stdout) as Result[]).map(({ name, level }) => [name, level]);
    t.match(Object.fromEntries(levels), { permissions: 'ok', database: 'ok', disk: /ok|warn/ });
    t.strictSame(fs.readdirSync(data), before);
  },
);

t.test('the table of systemd/CHECK.md has every check, in its order', (t) => {
  const text = fs.readFileSync(path.resolve(import.meta.dirname, '../../systemd/CHECK.md'), 'utf8');
  const names = [...text.matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, name]) => name);
  t.strictSame(
    names,
    CHECKS.map(({ name }) => name),
  );
  t.end();
});
