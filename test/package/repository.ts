import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Test } from 'tap';
import { makeRepository, type RepositoryOptions } from '../../scripts/package/repository.ts';
import { Box } from '../appliance/box.ts';
import { newer } from '../appliance/packages.ts';
import { debianTree } from '../appliance/tree.ts';
import { blocks } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { Workshop } from '../harness/workshop.ts';

export const PAGE = 'systemd/INTEGRATOR.md';
const STICK = '/media/stick/courtd-apt.tar';
const ON_BOX = '/srv/courtd-apt';
const SETTINGS = '/etc/courtd/courtd.env';
const NEXT = '9.1.0';

/** Makes a GPG key for a test. @returns the file of its secret half. */
export function makeKey(folder: string, name: string): string {
  const home = path.join(folder, name);
  fs.mkdirSync(home, { mode: 0o700 });
  const gpg = (...args: string[]) =>
    execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', '--passphrase', '', ...args], {
      stdio: 'pipe',
    });
  gpg('--quick-gen-key', `${name} <${name}@example.com>`, 'ed25519', 'sign');
  const file = path.join(folder, `${name}.asc`);
  fs.writeFileSync(file, gpg('--pinentry-mode', 'loopback', '--armor', '--export-secret-keys'));
  execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
  return file;
}

/**
 * Walks a box through the integrator's page: installed from the repository on a stick, then upgraded over it.
 * @param repository as `npm run package` has made it, with its archive next to it.
 */
export async function walkUpdates(
  t: Test,
  deb: string,
  repository: Omit<RepositoryOptions, 'key'> & { readonly key: string },
): Promise<void> {
  const workshop = new Workshop('repository');
  t.teardown(() => workshop.end());
  const box = new Box(workshop, await debianTree('bookworm'), `courtd-repository-${process.pid}`);
  addUnattendedUpgrades(box.root);
  await box.boot();
  const [, install, nextStick] = blocks(PAGE, 'sh').map((text) => text.replaceAll(/^sudo /gm, ''));
  const bring = (archive: string) => {
    fs.mkdirSync(path.dirname(box.root + STICK), { recursive: true });
    fs.copyFileSync(archive, box.root + STICK);
  };
  const does = (script: string) => box.run('sh', '-ec', script);
  const version = () => box.must('dpkg-query', '--show', '--showformat', `\${Version}`, 'courtd');
  const first = /_([^_]+)_/.exec(path.basename(deb))![1]!;

  await t.test('a box without internet installs it from a stick with apt', async (t) => {
    bring(`${repository.folder}.tar`);
    const { status, stderr } = await does(install!);
    t.equal(status, 0, stderr);
    t.equal(await version(), first);
    // From here on without Debian's servers: apt tries each for seconds.
    fs.rmSync(path.join(box.root, 'etc/apt/sources.list'));
    await box.must('courtd', 'token', 'rotate');
    await box.must('sh', '-c', `echo '# of this venue' >> ${SETTINGS}`);
    fs.writeFileSync(
      `${box.root}/root/events.ndjson`,
      `${JSON.stringify({ ...event(), session_id: 'kept' })}\n`,
    );
    const store =
      'courtd serve >/dev/null & until courtd import /root/events.ndjson; do sleep 0.2; done; kill $!; wait';
    await box.must('sh', '-c', store);
  });
  const before = await box.must('courtd', 'export', 'kept', '--format', 'ndjson');

  const next = await newer(workshop, deb, NEXT, (tree) =>
    fs.appendFileSync(tree + SETTINGS, '\n# of the new version\n'),
  );
  const options = { ...repository, folder: workshop.file('courtd-apt') };
  fs.cpSync(repository.folder, options.folder, { recursive: true });
  const { archive } = makeRepository([next], options);

  await t.test('a package that was changed is refused, and what is installed stays', async (t) => {
    bring(archive);
    const flip = `printf X | dd of=${path.basename(next)} bs=1 seek=5000000 conv=notrunc status=none`;
    await box.must('sh', '-ec', `tar -xf ${STICK} -C /srv courtd-apt; cd ${ON_BOX}; ${flip}`);
    const { stderr } = await does('apt-get update || true; apt-get install -y courtd');
    t.match(stderr, /Hash Sum mismatch/);
    t.equal(await version(), first);
    t.equal(await box.must('systemctl', 'is-active', 'courtd.service'), 'active');
  });

  await t.test(
    'unattended-upgrades takes the new version; events and settings are kept, and the daemon runs',
    async (t) => {
      bring(archive);
      const { status, stdout, stderr } = await does(nextStick!);
      t.equal(status, 0, stderr);
      t.equal(await version(), NEXT, stdout);
      t.match(
        await box.must('courtd', 'status', '--json').catch((error) => error.message),
        /"running":\s*true/,
      );
      t.equal(await box.must('courtd', '--version'), NEXT);
      t.equal(await box.must('courtd', 'export', 'kept', '--format', 'ndjson'), before);
      t.match(fs.readFileSync(box.root + SETTINGS, 'utf8'), /^# of this venue$/m);
    },
  );
}

/** From Debian, before the box is without internet; what apt then knows of Debian's packages is forgotten. */
function addUnattendedUpgrades(root: string): void {
  const script = `apt-get -q update && apt-get -q install -y --no-install-recommends unattended-upgrades
    rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb`;
  fs.copyFileSync('/etc/resolv.conf', path.join(root, 'etc/resolv.conf'));
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  execFileSync('chroot', [root, 'sh', '-ec', script], { env, stdio: 'pipe' });
  fs.rmSync(path.join(root, 'etc/resolv.conf'));
}
