import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { checkContextOf } from '../../src/cli/options/checkContext.ts';
import { makeProgram } from '../../src/cli/program.ts';
import { CHECKS } from '../../src/health/checks/allChecks.ts';
import { type Box, inspectBox } from '../../src/health/checks/box.ts';
import { runCheck } from '../../src/health/checks/check.ts';
import { timeServerAdvice } from '../../src/health/checks/clock.ts';
import type { CheckResult } from '../../src/health/finding.ts';
import type { QuickLook } from '../../src/store/inspection/inspect.ts';
import type { Token } from '../../src/store/tokens/tokens.ts';
import { makePair, type PairFiles } from '../harness/certificates.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { parseMetrics } from '../harness/metrics.ts';
import { withoutRoot } from '../harness/needs.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** What single checks find, each on a box of its own making; check.test.ts has all of them at the front door. */

const NOTHING: QuickLook = {
  isServed: true,
  events: 0,
  sessions: 0,
  newestMs: null,
  tokens: [],
  suggestion: null,
  unfinishedErasureMs: null,
};

/** @returns what one check finds on a box that has what is given. */
function find(
  name: string,
  { look = {}, ...given }: Partial<Omit<Box, 'database'>> & { look?: Partial<QuickLook> },
): Promise<CheckResult> {
  const box: Box = {
    data: new DataDirectory('/'),
    isFull: false,
    isAcknowledged: false,
    unit: undefined,
    noUnit: 'Not under systemd here',
    settings: {},
    settingsFrom: 'of a test',
    database: async () => ({ ...NOTHING, ...look }),
    daemon: async () => undefined,
    ...checkContextOf(makeProgram(), new DataDirectory('/')),
    signal: new AbortController().signal,
    ...given,
  };
  return runCheck(CHECKS.find((check) => check.name === name)!, box);
}

/** @param message that it is or holds, like the advice. */
function found(
  t: Pick<Test, 'match'>,
  result: CheckResult,
  level: CheckResult['level'],
  message: string | RegExp = /./,
  advice: string | RegExp = /^/,
): void {
  t.match(result, { level, message, advice });
}

t.test('configuration: what has no effect, what is wrong, what belongs together', async (t) => {
  const about = (settings: Record<string, string>, unit?: Box['unit']) =>
    find('configuration', { settings, unit });
  found(t, await about({ COURTD_KEEP: '0d', COURTD_KEEP_POSITIONS: '30d' }), 'ok', 'COURTD_KEEP');
  for (const settings of [
    { COURTD_BODY_LIMIT: '8MB' },
    { COURTD_LOG_LEVEL: 'loud' },
    { COURTD_KEEP: '1 year' },
    { COURTD_BACKUP_KEEP: '0' },
    { COURTD_TLS_CERT: '/none' },
  ]) {
    found(
      t,
      await about(settings as object as Record<string, string>),
      'fail',
      Object.keys(settings)[0]!,
      /\S/,
    );
  }
  const moved = { COURTD_PORT: '8080', COURTD_VENU: 'v' };
  found(t, await about(moved, {}), 'warn', 'COURTD_PORT is not used', 'systemctl edit courtd.socket');
});

t.test('permissions: what the daemon cannot open, and what others can', { skip: withoutRoot }, async (t) => {
  const data = temporaryFolder(t);
  const [owner, group] = [12_345, 12_346];
  const file = path.join(data, 'courtd.db');
  fs.writeFileSync(file, '', { mode: 0o660 });
  for (const name of [data, file]) fs.chownSync(name, owner, group);
  const about = (unit?: Box['unit']) => find('permissions', { data: new DataDirectory(data), unit });
  found(t, await about(), 'ok');
  fs.chownSync(file, 0, 0);
  found(t, await about(), 'fail', file, 'sudo chown --reference');
  fs.chownSync(file, owner, group);
  fs.chmodSync(file, 0o664);
  found(t, await about(), 'warn', file, 'chmod o-rwx');
  fs.chmodSync(file, 0o660);
  const refused = path.join(data, 'refused.db');
  fs.writeFileSync(refused, '', { mode: 0o660 });
  found(t, await about(), 'fail', refused, 'sudo chown --reference');
  fs.rmSync(refused);
  fs.symlinkSync('/etc/passwd', path.join(data, 'courtd.clock'));
  found(t, await about(), 'fail', 'courtd.clock is a link');
  fs.rmSync(path.join(data, 'courtd.clock'));
  fs.chmodSync(data, 0o2775);
  found(t, await about(), 'warn', `${data} is open to every user`);
  fs.chmodSync(data, 0o2770);
  found(t, await about({ User: 'root' }), 'fail', 'does not belong to the user root', 'chown -R');
  fs.rmSync(data, { recursive: true });
  found(t, await about(), 'fail', /^[^\n]+\.$/, /\S/);
});

t.test('clock: nobody to ask, and a clock that was ahead', async (t) => {
  const system = new FakeSystemd(t);
  system.use(t);
  found(t, await find('clock', {}), 'ok');
  const ahead = { newestMs: Date.now() + 3_600_000 };
  found(t, await find('clock', { look: ahead }), 'warn', 'by a clock that is ahead', /\S/);
  system.program('timedatectl', 'exit 1');
  found(t, await find('clock', {}), 'warn', 'cannot be told', /\S/);
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
  found(t, await at(daemon.port), 'ok', `127.0.0.1:${daemon.port}`);
  t.strictSame(JSON.parse((await daemon.command('rejections', '--json')).stdout), [], 'it is no camera');
  const { series } = parseMetrics((await daemon.command('metrics')).stdout);
  const counted = [...series].filter(
    ([name, count]) => name.startsWith('courtd_requests_total{') && count > 0,
  );
  t.strictSame(counted, [], 'and no request of one');
  const other = http.createServer((_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const holder = new RegExp(`is not courtd.* The port is held by .+ \\(process ${process.pid}\\)\\.$`);
  found(t, await at(port), 'fail', holder, 'ss -ltnp');
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
  found(t, await at(port), 'fail', `Nothing answers at 127.0.0.1:${port}`, 'firewall');
  found(t, await at(port, false), 'fail', 'The daemon does not run', 'courtd serve');
  // No address of any machine: what is there on the usual port of this one, nobody knows.
  const unknown = await find('port', { settings: { COURTD_HOST: '192.0.2.1.invalid' } });
  t.match(unknown, { level: 'warn', message: 'this command cannot tell', advice: 'COURTD_PORT=' });
});

t.test('port: a daemon that speaks TLS answers as well', async (t) => {
  const { cert, key } = makePair(temporaryFolder(t), 'box');
  const tls = { COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key };
  const daemon = await Daemon.start(t, [], path.join(temporaryFolder(t), 'data'), tls);
  const COURTD_PORT = String(daemon.port);
  found(t, await find('port', { settings: { COURTD_PORT, ...tls } }), 'ok');
  found(t, await find('port', { settings: { COURTD_PORT } }), 'fail', 'is not courtd as it is set up here');
});

t.test('token: none that is used, one that ends and is used, one that has ended', async (t) => {
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
  found(t, await about(one), 'ok', 'from 10.0.7.31');
  found(t, await about(unused), 'warn', 'No camera has sent token 2 yet');
  const ending = { ...one, expires_ms: now + 3_600_000 };
  found(t, await about(ending, { ...one, id: 2 }), 'warn', '10.0.7.31 still sends the old token 1');
  found(t, await about({ ...ending, last_used_ms: 0 }, { ...one, id: 2 }), 'ok');
  found(t, await about(ending), 'warn', 'The only token is about to end');
});

t.test('certificate: good, near its end, of another key, and a key open to all', async (t) => {
  const folder = temporaryFolder(t);
  const about = ({ cert, key }: PairFiles) =>
    find('certificate', { settings: { COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key } });
  const [long, short] = [makePair(folder, 'long'), makePair(folder, 'short', 12)];
  for (const { key } of [long, short]) fs.chmodSync(key, 0o600);
  found(t, await about(long), 'ok', /good for 36\d\d days/);
  found(t, await about(short), 'warn', /expires in 1[12] days/);
  found(t, await about({ cert: long.cert, key: short.key }), 'fail', 'does not belong to the certificate');
  found(t, await about({ cert: `${long.cert}.none`, key: long.key }), 'fail', 'there is no such file');
  fs.chmodSync(long.key, 0o644);
  found(t, await about(long), 'warn', 'can read the TLS key', 'chmod 0640');
});

t.test('backup: none set, none made, a new one, one that is none', async (t) => {
  const data = path.join(temporaryFolder(t), 'data');
  t.match(await courtd(['token', 'rotate', '--data', data]), { status: 0 });
  const place = temporaryFolder(t);
  const about = () =>
    find('backup', { data: new DataDirectory(data), settings: { COURTD_BACKUP_DIR: place } });
  found(t, await find('backup', { data: new DataDirectory(data) }), 'warn', 'COURTD_BACKUP_DIR is not set');
  found(t, await about(), 'fail', 'no backup', 'systemctl start courtd-backup');
  t.match(await courtd(['backup', place, '--data', data]), { status: 0 });
  found(t, await about(), 'ok', /^The newest backup is [\d.]+ s old: /);
  const [made = ''] = fs.readdirSync(place);
  fs.writeFileSync(path.join(place, made), 'no database');
  found(t, await about(), 'fail', 'is no database of courtd');
});

t.test('a check that throws is a failure with a sentence', async (t) => {
  const look = () => {
    throw new TypeError('a cat walked over it');
  };
  const thrown = await runCheck({ name: 'cat', look }, {} as Box);
  const closed = () => fs.readFileSync('/none');
  found(
    t,
    await runCheck({ name: 'none', look: () => JSON.parse(String(closed())) }, {} as Box),
    'fail',
    /^The system refused it: [^\n]+\.$/,
    /\S/,
  );
  t.match(thrown, { name: 'cat', level: 'fail', message: /^[^\n]+$/, advice: 'report it' });
});

/** A box with systemd. `look` says what one check finds there, which sees it as the command does. */
async function booted(t: Test) {
  const data = temporaryFolder(t);
  fs.writeFileSync(path.join(data, 'courtd.db'), '');
  const system = new FakeSystemd(t);
  system.boot(data, 1);
  system.use(t);
  const look = async (name: string, acknowledge = false) =>
    runCheck(
      CHECKS.find((check) => check.name === name)!,
      await inspectBox(
        { data: new DataDirectory(data), acknowledge },
        checkContextOf(makeProgram(), new DataDirectory(data)),
      ),
    );
  return { system, look };
}

t.test('units: what does not start with the box, what is down, what has failed', async (t) => {
  const { system, look } = await booted(t);
  found(t, await look('units'), 'ok');
  system.change('courtd-backup.timer', { UnitFileState: 'disabled', ActiveState: 'inactive' });
  found(t, await look('units'), 'warn', /courtd-backup\.timer is disabled.*is inactive/, 'enable --now');
  system.change('courtd-backup.timer', { UnitFileState: 'enabled', ActiveState: 'active' });
  system.change('courtd-prune.service', { Result: 'exit-code' });
  found(t, await look('units'), 'warn', /^The nightly prune has failed: /, 'journalctl -u courtd-prune');
  system.change('courtd.service', { ActiveState: 'activating' });
  found(t, await look('units'), 'warn', 'courtd.service is activating just now', 'again');
  system.change('courtd.socket', { ActiveState: 'failed' });
  found(t, await look('units'), 'fail', /^courtd\.socket is failed/);
  fs.rmSync(path.join(system.folder, 'courtd.socket'));
  found(t, await look('units'), 'fail', 'There is no courtd.socket');
});

t.test('units of another data directory are none of its own', async (t) => {
  const { system, look } = await booted(t);
  system.settings({ COURTD_DATA: '/srv/another', COURTD_NONSENSE: '1' });
  for (const name of ['units', 'log']) {
    found(t, await look(name), 'ok', /^courtd\.service has another data directory than /);
  }
  found(t, await look('configuration'), 'ok');
});

/** A journal that has these lines of courtd, and says these of systemd. @param at when it took the first of them, in microseconds. */
function journal(
  lines: readonly object[],
  systemds: readonly string[] = [],
  at = 1_795_000_000_000_000,
): string {
  const entry = (text: string, i: number) =>
    JSON.stringify({ __REALTIME_TIMESTAMP: `${at + i}`, MESSAGE: text });
  const print = (texts: readonly string[]) =>
    texts.map((text, i) => `printf '%s\\n' '${entry(text, i)}'`).join('\n');
  const own = lines.length === 0 ? 'exit 1' : print(lines.map((line) => JSON.stringify(line)));
  return `case "$*" in\n*--grep=*)\n${own}\n;;\n*--priority=err*)\n:\n${print(systemds)}\n;;\nesac`;
}

t.test('log: what was acknowledged is not told again, and what comes next is, on any clock', async (t) => {
  const { system, look } = await booted(t);
  const failed = 'courtd.service: Failed with result "exit-code".';
  const fatal = { level: 'fatal', time: '2026-03-14T15:09:26.535Z', msg: 'the disk failed to read or write' };
  const shows = (at: number, more: readonly object[] = []) =>
    system.program('journalctl', journal([...more, fatal], [failed], at));
  shows(1_795_000_000_000_000);
  found(t, await look('log'), 'fail', /^1 fatal line/, 'check --acknowledge');
  found(
    t,
    await look('log', true),
    'ok',
    /^From now on this is not told again: 1 fatal line .* systemd says/,
  );
  found(t, await look('log'), 'ok');
  shows(1_794_000_000_000_000);
  found(t, await look('log'), 'fail', /^1 fatal line/);
  const many = Array.from({ length: 99 }, () => fatal);
  shows(1_795_000_000_000_000, many);
  found(t, await look('log'), 'fail', /^99 fatal lines/);
  found(t, await look('log', true), 'ok', '99 fatal lines');
  found(t, await look('log'), 'ok');
  system.program('journalctl', journal([]));
  found(t, await look('log', true), 'ok', /^No new error/);
});

t.test('log: fatal lines, errors, what systemd says, and a journal that cannot be read', async (t) => {
  const { system, look } = await booted(t);
  const fatal = { level: 'fatal', time: '2026-03-14T15:09:26.535Z', msg: 'the disk failed to read or write' };
  const error = { level: 'error', time: '2026-03-14T15:09:25.000Z', msg: 'the disk is full' };
  system.program('journalctl', journal([]));
  found(t, await look('log'), 'ok');
  system.program('journalctl', journal([error]));
  found(t, await look('log'), 'warn', /^1 error line .* "the disk is full"\.$/, 'journalctl -u courtd');
  system.program('journalctl', journal([fatal, error]));
  found(
    t,
    await look('log'),
    'fail',
    /^1 fatal line .*the newest at 2026-03-14T15:09:26\.535Z "the disk failed/,
  );
  system.program('journalctl', journal([], ['courtd.service: Failed with result "watchdog".']));
  found(t, await look('log'), 'warn', 'Failed with result "watchdog"');
  system.program(
    'journalctl',
    'echo "No journal files were opened due to insufficient permissions." >&2; exit 1',
  );
  found(t, await look('log'), 'warn', 'cannot be read', 'sudo');
});
