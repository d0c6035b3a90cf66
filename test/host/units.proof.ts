import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { BIN, type Cleanup, run, temporaryFolder } from '../harness/daemon.ts';

const UNITS = path.resolve(import.meta.dirname, '../../systemd');
const SERVICES = ['courtd.service', 'courtd-backup.service', 'courtd-prune.service', 'courtd-feed.service'];
/** The one that has the network. */
const SHIPPER = 'courtd-ship.service';
/** Ten times the exposure that is allowed. */
const THRESHOLD = 5;
const SHIPPER_THRESHOLD = 11;

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

const exposures = `each service is exposed by ${THRESHOLD / 10} at most, the shipper by ${SHIPPER_THRESHOLD / 10}`;
t.test(exposures, analyzing, async (t) => {
  const offline = ['security', '--offline=true', '--no-pager'];
  for (const name of [...SERVICES, SHIPPER]) {
    const file = units(t).find((file) => path.basename(file) === name)!;
    const threshold = `--threshold=${name === SHIPPER ? SHIPPER_THRESHOLD : THRESHOLD}`;
    const { status, stdout } = await run('systemd-analyze', [...offline, threshold, file]);
    t.equal(status, 0, stdout.trim().split('\n').at(-1) ?? '');
  }
});
