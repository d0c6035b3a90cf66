import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { CHECKS } from '../../src/cli/checks/allChecks.ts';
import { inspectBox } from '../../src/cli/checks/box.ts';
import { runCheck } from '../../src/cli/checks/check.ts';
import { makeProgram } from '../../src/cli/program.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';

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
    message: /^The nightly prune has failed: /,
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
  for (const name of ['units', 'log']) {
    t.match(await find(name), { level: 'ok', message: /^courtd\.service has another data directory than / });
  }
  t.match(await find('configuration'), { level: 'ok' });
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
