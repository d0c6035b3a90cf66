import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import t from 'tap';
import { CHECKS } from '../../src/cli/checks/allChecks.ts';
import type { Box } from '../../src/cli/checks/box.ts';
import { runCheck } from '../../src/cli/checks/check.ts';
import { timeServerAdvice } from '../../src/cli/checks/clock.ts';
import { makeProgram } from '../../src/cli/program.ts';
import { Progress } from '../../src/cli/terminal/output.ts';
import type { CheckResult } from '../../src/health/finding.ts';
import type { QuickLook } from '../../src/store/inspection/inspect.ts';
import type { Token } from '../../src/store/tokens/tokens.ts';
import { makePair, type PairFiles } from '../harness/certificates.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { withoutRoot } from '../harness/needs.ts';

runInProcess();

/** What single checks find, each on a box of its own making; check.test.ts has all of them at the front door. */

const NOTHING: QuickLook = {
  isServed: true,
  events: 0,
  sessions: 0,
  newestMs: null,
  tokens: [],
  suggestion: null,
};

/** @returns what one check finds on a box that has what is given. */
function find(
  name: string,
  { look = {}, ...given }: Partial<Omit<Box, 'database'>> & { look?: Partial<QuickLook> },
): Promise<CheckResult> {
  const box: Box = {
    data: '/',
    isFull: false,
    program: makeProgram(),
    unit: undefined,
    noUnit: 'Not under systemd here',
    settings: {},
    settingsFrom: 'of a test',
    database: async () => ({ ...NOTHING, ...look }),
    daemon: async () => undefined,
    progress: new Progress(),
    signal: new AbortController().signal,
    ...given,
  };
  return runCheck(CHECKS.find((check) => check.name === name)!, box);
}

t.test('configuration: what has no effect, what is wrong, what belongs together', async (t) => {
  const about = (settings: Record<string, string>, unit?: Box['unit']) =>
    find('configuration', { settings, unit });
  t.match(await about({ COURTD_KEEP: '0d', COURTD_KEEP_POSITIONS: '30d' }), {
    level: 'ok',
    message: 'COURTD_KEEP',
  });
  t.match(await about({ COURTD_RATE_LIMT: '5' }), {
    level: 'warn',
    message: 'COURTD_RATE_LIMT',
    advice: 'COURTD_RATE_LIMIT',
  });
  t.match(await about({ COURTD_XYZZY_ABC: '5' }), { level: 'warn', advice: 'Remove COURTD_XYZZY_ABC' });
  for (const settings of [
    { COURTD_BODY_LIMIT: '8MB' },
    { COURTD_LOG_LEVEL: 'loud' },
    { COURTD_KEEP: '1 year' },
    { COURTD_BACKUP_KEEP: '0' },
    { COURTD_TLS_CERT: '/none' },
  ]) {
    t.match(await about(settings as object as Record<string, string>), {
      level: 'fail',
      message: Object.keys(settings)[0],
      advice: /\S/,
    });
  }
  const moved = { COURTD_PORT: '8080', COURTD_VENU: 'v' };
  t.match(await about(moved), { level: 'warn', message: /^The variable COURTD_VENU has no effect/ });
  t.match(await about(moved, {}), {
    level: 'warn',
    message: 'COURTD_PORT is not used',
    advice: 'systemctl edit courtd.socket',
  });
});

t.test('permissions: what the daemon cannot open, and what others can', { skip: withoutRoot }, async (t) => {
  const data = temporaryFolder(t);
  const [owner, group] = [12_345, 12_346];
  const file = path.join(data, 'courtd.db');
  fs.writeFileSync(file, '', { mode: 0o660 });
  for (const name of [data, file]) fs.chownSync(name, owner, group);
  const about = (unit?: Box['unit']) => find('permissions', { data, unit });
  t.match(await about(), { level: 'ok' });
  fs.chownSync(file, 0, 0);
  t.match(await about(), { level: 'fail', message: file, advice: 'sudo chown --reference' });
  fs.chownSync(file, owner, group);
  fs.chmodSync(file, 0o664);
  t.match(await about(), { level: 'warn', message: file, advice: 'chmod o-rwx' });
  fs.chmodSync(file, 0o660);
  fs.symlinkSync('/etc/passwd', path.join(data, 'courtd.clock'));
  t.match(await about(), { level: 'fail', message: 'courtd.clock is a link' });
  fs.rmSync(path.join(data, 'courtd.clock'));
  fs.chmodSync(data, 0o2775);
  t.match(await about(), { level: 'warn', message: `${data} is open to every user` });
  fs.chmodSync(data, 0o2770);
  t.match(await about({ User: 'root' }), {
    level: 'fail',
    message: 'does not belong to the user root',
    advice: 'chown -R',
  });
  fs.rmSync(data, { recursive: true });
  t.match(await about(), { level: 'fail', message: /^[^\n]+\.$/, advice: /\S/ });
});

t.test('clock: no time server, nobody to ask, and a clock that was ahead', async (t) => {
  const system = new FakeSystemd(t);
  system.use(t);
  t.match(await find('clock', {}), { level: 'ok' });
  const ahead = { newestMs: Date.now() + 3_600_000 };
  t.match(await find('clock', { look: ahead }), {
    level: 'warn',
    message: 'by a clock that is ahead',
    advice: /\S/,
  });
  system.program('timedatectl', 'echo NTPSynchronized=no');
  t.match(await find('clock', {}), {
    level: 'warn',
    message: 'no time server',
    advice: 'chrony-courtd.conf',
  });
  system.program('timedatectl', 'exit 1');
  t.match(await find('clock', {}), { level: 'warn', message: 'cannot be told', advice: /\S/ });
});

t.test('clock: the advice is for what sets the clock here, or says what to install', async (t) => {
  const root = temporaryFolder(t);
  const put = (file: string) => {
    fs.mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    fs.writeFileSync(path.join(root, file), '');
  };
  t.match(timeServerAdvice(root), 'sudo apt install chrony');
  put('usr/lib/systemd/systemd-timesyncd');
  t.match(timeServerAdvice(root), '/etc/systemd/timesyncd.conf');
  put('usr/sbin/chronyd');
  t.match(timeServerAdvice(root), '/etc/chrony/sources.d');
});

t.test('port: courtd, another program, nothing, and a daemon that is down', async (t) => {
  const daemon = await Daemon.start(t, [], path.join(temporaryFolder(t), 'data'));
  const at = (port: number, isServed = true) =>
    find('port', { settings: { COURTD_PORT: String(port) }, look: { isServed } });
  t.match(await at(daemon.port), { level: 'ok', message: `127.0.0.1:${daemon.port}` });
  const other = http.createServer((_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const holder = new RegExp(`is not courtd.* The port is held by .+ \\(process ${process.pid}\\)\\.$`);
  t.match(await at(port), { level: 'fail', message: holder, advice: 'ss -ltnp' });
  t.match(
    await find('port', { settings: { COURTD_PORT: String(port) }, look: { isServed: false }, unit: {} }),
    {
      level: 'fail',
      message: new RegExp(
        `^The daemon does not run: .* Its port ${port} is taken: .* \\(process ${process.pid}\\)`,
      ),
      advice: / End that program first\.$/,
    },
  );
  await new Promise((resolve) => other.close(resolve));
  t.match(await at(port), {
    level: 'fail',
    message: `Nothing answers at 127.0.0.1:${port}`,
    advice: 'firewall',
  });
  t.match(await at(port, false), {
    level: 'fail',
    message: 'The daemon does not run',
    advice: 'courtd serve',
  });
  // No address of any machine: what is there on the usual port of this one, nobody knows.
  const unknown = await find('port', { settings: { COURTD_HOST: '192.0.2.1.invalid' } });
  t.match(unknown, { level: 'warn', message: 'this command cannot tell', advice: 'COURTD_PORT=' });
});

t.test('port: a daemon that speaks TLS answers as well', async (t) => {
  const { cert, key } = makePair(temporaryFolder(t), 'box');
  const tls = { COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key };
  const daemon = await Daemon.start(t, [], path.join(temporaryFolder(t), 'data'), tls);
  const COURTD_PORT = String(daemon.port);
  t.match(await find('port', { settings: { COURTD_PORT, ...tls } }), { level: 'ok' });
  t.match(await find('port', { settings: { COURTD_PORT } }), {
    level: 'fail',
    message: 'is not courtd as it is set up here',
  });
});

t.test('token: none, none that is used, one that ends and is used, one that has ended', async (t) => {
  const now = Date.now();
  const one: Token = {
    id: 1,
    created_ms: now,
    expires_ms: null,
    revoked_ms: null,
    last_used_ms: now,
    last_used_from: '10.0.7.31',
  };
  const unused = { ...one, id: 2, last_used_ms: null, last_used_from: null };
  const about = (...tokens: Token[]) => find('token', { look: { tokens } });
  t.match(await about(one), { level: 'ok', message: 'from 10.0.7.31' });
  t.match(await about({ ...one, revoked_ms: now }), { level: 'fail', message: 'There is no token' });
  t.match(await about(unused), { level: 'warn', message: 'No camera has sent token 2 yet' });
  const ending = { ...one, expires_ms: now + 3_600_000 };
  t.match(await about(ending, { ...one, id: 2 }), {
    level: 'warn',
    message: '10.0.7.31 still sends the old token 1',
  });
  t.match(await about({ ...ending, last_used_ms: 0 }, { ...one, id: 2 }), { level: 'ok' });
  t.match(await about(ending), { level: 'warn', message: 'The only token is about to end' });
});

t.test('certificate: good, near its end, of another key, and a key open to all', async (t) => {
  const folder = temporaryFolder(t);
  const about = ({ cert, key }: PairFiles) =>
    find('certificate', { settings: { COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key } });
  const [long, short] = [makePair(folder, 'long'), makePair(folder, 'short', 12)];
  for (const { key } of [long, short]) fs.chmodSync(key, 0o600);
  t.match(await about(long), { level: 'ok', message: /good for 36\d\d days/ });
  t.match(await about(short), { level: 'warn', message: /expires in 1[12] days/ });
  t.match(await about({ cert: long.cert, key: short.key }), {
    level: 'fail',
    message: 'does not belong to the certificate',
  });
  t.match(await about({ cert: `${long.cert}.none`, key: long.key }), {
    level: 'fail',
    message: 'there is no such file',
  });
  fs.chmodSync(long.key, 0o644);
  t.match(await about(long), { level: 'warn', message: 'can read the TLS key', advice: 'chmod 0640' });
});

t.test('backup: none set, no place, none made, a new one, one that is none', async (t) => {
  const data = path.join(temporaryFolder(t), 'data');
  t.match(await courtd(['token', 'rotate', '--data', data]), { status: 0 });
  const place = temporaryFolder(t);
  const about = (directory = place) => find('backup', { data, settings: { COURTD_BACKUP_DIR: directory } });
  t.match(await find('backup', { data }), { level: 'warn', message: 'COURTD_BACKUP_DIR is not set' });
  t.match(await about(path.join(place, 'none')), {
    level: 'fail',
    message: 'no directory',
    advice: 'Mount its disk',
  });
  t.match(await about(), { level: 'fail', message: 'no backup', advice: 'systemctl start courtd-backup' });
  t.match(await courtd(['backup', place, '--data', data]), { status: 0 });
  t.match(await about(), { level: 'ok', message: /^The newest backup is [\d.]+ s old: / });
  const [made = ''] = fs.readdirSync(place);
  fs.writeFileSync(path.join(place, made), 'no database');
  t.match(await about(), { level: 'fail', message: 'is no database of courtd' });
});

t.test('a check that throws is a failure with a sentence', async (t) => {
  const look = () => {
    throw new TypeError('a cat walked over it');
  };
  const found = await runCheck({ name: 'cat', look }, {} as Box);
  const closed = () => fs.readFileSync('/none');
  t.match(await runCheck({ name: 'none', look: () => JSON.parse(String(closed())) }, {} as Box), {
    level: 'fail',
    message: /^The system refused it: [^\n]+\.$/,
    advice: /\S/,
  });
  t.match(found, { name: 'cat', level: 'fail', message: /^[^\n]+$/, advice: 'report it' });
});
