import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { CHECKS } from '../../src/cli/checks/allChecks.ts';
import { inspectBox } from '../../src/cli/checks/box.ts';
import { runCheck } from '../../src/cli/checks/check.ts';
import { aboutChrony } from '../../src/cli/checks/clock.ts';
import { aboutAvahi } from '../../src/cli/checks/port.ts';
import { SANDBOX } from '../../src/cli/checks/units.ts';
import { makeProgram } from '../../src/cli/program.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { FakeSystemd, sandboxOfUnit } from '../harness/fakeSystemd.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../systemd/examples');

/** A box with systemd. `find` says what one check finds there, which sees it as the command does. */
async function booted(t: Test) {
  const data = temporaryFolder(t);
  fs.writeFileSync(path.join(data, 'courtd.db'), '');
  const system = new FakeSystemd(t);
  system.boot(data, 1);
  system.use(t);
  const find = async (name: string) =>
    runCheck(CHECKS.find((check) => check.name === name)!, await inspectBox({ data }, makeProgram()));
  return { system, find };
}

t.test('units: what does not start with the box, what is down, what has failed', async (t) => {
  const { system, find } = await booted(t);
  t.match(await find('units'), { level: 'ok' });
  system.change('courtd-backup.timer', { UnitFileState: 'disabled', ActiveState: 'inactive' });
  t.match(await find('units'), {
    level: 'warn',
    message: /courtd-backup\.timer is disabled.*is inactive/,
    advice: 'enable --now',
  });
  system.change('courtd-backup.timer', { UnitFileState: 'enabled', ActiveState: 'active' });
  system.change('courtd-prune.service', { Result: 'exit-code' });
  t.match(await find('units'), {
    level: 'warn',
    message: 'courtd-prune.service has failed',
    advice: 'journalctl -u courtd-prune',
  });
  system.change('courtd.service', { ActiveState: 'activating' });
  t.match(await find('units'), {
    level: 'warn',
    message: 'courtd.service is activating just now',
    advice: 'again',
  });
  system.change('courtd.socket', { ActiveState: 'failed' });
  t.match(await find('units'), { level: 'fail', message: /^courtd\.socket is failed/ });
  fs.rmSync(path.join(system.folder, 'courtd.socket'));
  t.match(await find('units'), { level: 'fail', message: 'There is no courtd.socket' });
});

t.test('units of another data directory are none of its own', async (t) => {
  const { system, find } = await booted(t);
  system.settings({ COURTD_DATA: '/srv/another', COURTD_NONSENSE: '1' });
  for (const name of ['units', 'sandbox', 'log']) {
    t.match(await find(name), { level: 'ok', message: /^courtd\.service has another data directory than / });
  }
  t.match(await find('configuration'), { level: 'ok' });
});

t.test('sandbox: an override that loosens it is named', async (t) => {
  const { system, find } = await booted(t);
  t.match(await find('sandbox'), { level: 'ok' });
  const loose = {
    PrivateNetwork: 'no',
    CapabilityBoundingSet: 'cap_net_admin',
    SystemCallFilter: '',
    ProtectSystem: 'full',
    RestrictAddressFamilies: 'AF_INET AF_UNIX',
    InaccessiblePaths: '',
    DropInPaths: '/etc/systemd/system/courtd.service.d/override.conf',
  };
  system.change('courtd.service', loose);
  const found = await find('sandbox');
  t.match(found, { level: 'warn', message: 'override.conf', advice: 'systemctl edit courtd.service' });
  for (const name of Object.keys(loose)) if (name !== 'DropInPaths') t.match(found.message, name);
  t.notMatch(found.message, 'PrivateUsers');
});

t.test('every line of courtd.service that takes something away is looked at', (t) => {
  const directives = sandboxOfUnit().map(([name]) => name);
  t.ok(directives.length > 30);
  for (const name of directives) {
    // What becomes of a call that is not allowed is no matter of how many there are.
    if (name !== 'SystemCallErrorNumber') t.ok(Object.hasOwn(SANDBOX, name), name);
  }
  t.end();
});

/** A journal that has these lines of courtd, and says these of systemd. */
function journal(lines: readonly object[], systemds: readonly string[] = []): string {
  const print = (texts: readonly string[]) => texts.map((text) => `echo '${text}'`).join('\n');
  const own = lines.length === 0 ? 'exit 1' : print(lines.map((line) => JSON.stringify(line)));
  return `case "$*" in\n*--grep=*)\n${own}\n;;\n*--priority=err*)\n:\n${print(systemds)}\n;;\nesac`;
}

t.test('log: fatal lines, errors, what systemd says, and a journal that cannot be read', async (t) => {
  const { system, find } = await booted(t);
  const fatal = { level: 'fatal', time: '2026-03-14T15:09:26.535Z', msg: 'the disk failed to read or write' };
  const error = { level: 'error', time: '2026-03-14T15:09:25.000Z', msg: 'the disk is full' };
  system.program('journalctl', journal([]));
  t.match(await find('log'), { level: 'ok' });
  system.program('journalctl', journal([error]));
  t.match(await find('log'), {
    level: 'warn',
    message: /^1 error line .* "the disk is full"\.$/,
    advice: 'journalctl -u courtd',
  });
  system.program('journalctl', journal([fatal, error]));
  t.match(await find('log'), {
    level: 'fail',
    message: /^1 fatal line .*the newest at 2026-03-14T15:09:26\.535Z "the disk failed/,
  });
  system.program('journalctl', journal([], ['courtd.service: Failed with result "watchdog".']));
  t.match(await find('log'), { level: 'warn', message: 'Failed with result "watchdog"' });
  system.program(
    'journalctl',
    'echo "No journal files were opened due to insufficient permissions." >&2; exit 1',
  );
  t.match(await find('log'), { level: 'warn', message: 'cannot be read', advice: 'sudo' });
});

t.test(
  'avahi: the example is right for a box as it is installed, and what does not fit is told',
  async (t) => {
    const file = path.join(temporaryFolder(t), 'courtd.service');
    const about = (settings: Record<string, string> = {}) => aboutAvahi({ unit: undefined, settings }, file);
    t.match(await about(), { level: 'ok', message: 'not announced' });
    const example = fs.readFileSync(path.join(EXAMPLES, 'courtd.avahi.service'), 'utf8');
    fs.writeFileSync(file, example);
    t.match(await about(), { level: 'ok', message: 'port 4000' });
    t.match(example, 'path=/v1/events');
    t.match(await about({ COURTD_PORT: '8080' }), {
      level: 'warn',
      message: 'announces port 4000, and courtd listens on 8080',
    });
    t.match(await about({ COURTD_TLS_CERT: '/x' }), {
      level: 'warn',
      message: 'speaks TLS',
      advice: 'tls=yes',
    });
    fs.writeFileSync(file, example.replace('<port>4000</port>', ''));
    t.match(await about(), { level: 'warn', message: 'announces no port' });
    fs.writeFileSync(file, example.replace('_courtd._tcp</type>', '_http._tcp</type>'));
    t.match(await about(), { level: 'warn', message: 'does not announce _courtd._tcp' });
  },
);

t.test('chrony: the example is right on a box with a clock battery, and told on one without', async (t) => {
  const folder = temporaryFolder(t);
  const [file, battery] = [path.join(folder, 'courtd.conf'), path.join(folder, 'rtc0')];
  const system = new FakeSystemd(t);
  system.use(t);
  system.program('systemctl', 'echo active');
  t.match(await aboutChrony({ file, battery }), { level: 'ok', message: 'gives cameras no clock' });
  fs.copyFileSync(path.join(EXAMPLES, 'chrony-courtd.conf'), file);
  t.match(await aboutChrony({ file, battery }), {
    level: 'warn',
    message: 'runs on a battery',
    advice: '"local"',
  });
  fs.mkdirSync(battery);
  t.match(await aboutChrony({ file, battery }), { level: 'ok' });
  fs.writeFileSync(file, 'local stratum 10\n');
  t.match(await aboutChrony({ file, battery }), { level: 'warn', message: 'lets no camera ask' });
  system.program('systemctl', 'echo inactive; exit 3');
  t.match(await aboutChrony({ file, battery }), { level: 'warn', message: 'chrony does not run' });
});
