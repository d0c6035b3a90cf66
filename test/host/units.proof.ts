import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { BIN, run, temporaryFolder } from '../harness/daemon.ts';

const UNITS = path.resolve(import.meta.dirname, '../../systemd');
const SERVICES = ['courtd.service', 'courtd-backup.service', 'courtd-prune.service'];
/** Ten times the exposure that is allowed. */
const THRESHOLD = 5;

const analyzing = {
  skip: (await run('systemd-analyze', ['--version'])).status !== 0 && 'there is no systemd-analyze here',
};

/** @returns the units with this checkout's program in the place of the installed one. */
function units(t: Parameters<typeof temporaryFolder>[0]): string[] {
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
  t.equal(files.length, 6);
  const verified = await run('systemd-analyze', ['verify', '--man=no', ...files]);
  t.match(verified, { status: 0, stdout: '', stderr: '' });
});

t.test(`the exposure of each service is at most ${THRESHOLD / 10}`, analyzing, async (t) => {
  const offline = ['security', '--offline=true', '--no-pager', `--threshold=${THRESHOLD}`];
  for (const name of SERVICES) {
    const file = units(t).find((file) => path.basename(file) === name)!;
    const { status, stdout } = await run('systemd-analyze', [...offline, file]);
    t.equal(status, 0, stdout.trim().split('\n').at(-1) ?? '');
  }
});
