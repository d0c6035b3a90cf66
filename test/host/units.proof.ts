import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { BIN, type Cleanup, run, temporaryFolder } from '../harness/daemon.ts';

const UNITS = path.resolve(import.meta.dirname, '../../systemd');
/** Ten times the exposure that is allowed: that of those who have the network is more. */
const THRESHOLDS = {
  'courtd.service': 5,
  'courtd-backup.service': 5,
  'courtd-copy.service': 5,
  'courtd-feed@.service': 5,
  'courtd-ship.service': 11,
  'courtd-alert.service': 10,
};

const analyzing = {
  skip: (await run('systemd-analyze', ['--version'])).status !== 0 && 'there is no systemd-analyze here',
};

/** @returns the units with this checkout's program in the place of the installed one. */
function units(t: Cleanup): string[] {
  const folder = temporaryFolder(t);
  const names = fs.readdirSync(UNITS).filter((name) => /\.(service|socket|timer)$/.test(name));
  return names.map((name) => {
    const file = path.join(folder, name);
    const text = fs.readFileSync(path.join(UNITS, name), 'utf8');
    fs.writeFileSync(file, text.replaceAll('/usr/bin/courtd', BIN));
    return file;
  });
}

t.test('systemd finds nothing to say against the units', analyzing, async (t) => {
  const files = units(t);
  t.equal(files.length, 9);
  const verified = await run('systemd-analyze', ['verify', '--man=no', ...files]);
  t.match(verified, { status: 0, stdout: '', stderr: '' });
});

t.test('no service is exposed more than its work takes', analyzing, async (t) => {
  const offline = ['security', '--offline=true', '--no-pager'];
  for (const [name, threshold] of Object.entries(THRESHOLDS)) {
    const file = units(t).find((file) => path.basename(file) === name)!;
    const { status, stdout } = await run('systemd-analyze', [...offline, `--threshold=${threshold}`, file]);
    t.equal(status, 0, stdout.trim().split('\n').at(-1) ?? '');
  }
});
