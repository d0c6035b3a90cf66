import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import t, { type Test } from 'tap';
import { ARCHITECTURES } from '../../scripts/package/architecture.ts';
import { FOR_REPOSITORY, missingNeeds } from '../../scripts/package/needs.ts';
import { missingNeeds as missingForBox } from '../appliance/needs.ts';
import { run, start, temporaryFolder } from '../harness/daemon.ts';
import { blocks } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { makeKey, PAGE, walkUpdates } from './repository.ts';
import { checkSbom } from './sbom.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SCRIPT = path.join(ROOT, 'scripts/package.ts');
const MAINTAINER = 'Example Courts Ltd <support@example.com>';
const SUPPORT = 'https://example.com/courtd';
const ORIGIN = 'Example Courts';
const own = ARCHITECTURES.find(({ node }) => node === process.arch)!;

// A few seconds, if the disk has nothing else to do.
t.setTimeout(900_000);

/** Builds the package of this kind of machine in a folder of its own. */
async function build(folder: string, ...more: string[]) {
  const work = path.join(folder, 'work');
  fs.mkdirSync(work, { recursive: true });
  const args = [SCRIPT, '--quick', '--arch', own.debian, '--to', folder, ...more];
  const env = { ...process.env, TMPDIR: work, SOURCE_DATE_EPOCH: '1750000000' };
  const { status, stdout, stderr } = await run(process.execPath, args, { cwd: ROOT, env });
  const deb = fs.readdirSync(folder).find((name) => name.endsWith('.deb'));
  return { status, stdout, stderr, deb: path.join(folder, deb ?? 'none') };
}

t.test('the package', { skip: missingNeeds([own], FOR_REPOSITORY) ?? false }, async (t) => {
  const folders = [temporaryFolder(t), path.join(temporaryFolder(t), 'elsewhere')];
  const names = ['--maintainer', MAINTAINER, '--support', SUPPORT];
  const keys = temporaryFolder(t);
  const repository = {
    folder: path.join(temporaryFolder(t), 'courtd-apt'),
    key: makeKey(keys, 'own'),
    origin: ORIGIN,
  };
  const { folder: repo, key } = repository;
  const first = await build(folders[0]!, ...names, '--repo', repo, '--key', key, '--origin', ORIGIN);
  t.equal(first.status, 0, first.stderr);
  const tree = path.join(folders[0]!, 'tree');
  await run('dpkg-deb', ['-x', first.deb, tree]);
  const bin = path.join(tree, 'usr/lib/courtd/bin/courtd');

  t.test('the same bytes from another folder', async (t) => {
    const second = await build(folders[1]!, ...names);
    t.equal(second.status, 0, second.stderr);
    t.ok(fs.readFileSync(first.deb).equals(fs.readFileSync(second.deb)));
  });

  t.test('the program in it runs: with its Node and libatomic, and nothing of the checkout', async (t) => {
    const files = fs.readdirSync(path.join(tree, 'usr/lib/courtd'), { recursive: true, encoding: 'utf8' });
    t.strictSame(
      files.filter((name) => /\.(ts|map|md|h|c)$/.test(name)),
      [],
    );
    t.strictSame(
      files.filter((name) => name.endsWith('.node')),
      [`node_modules/better-sqlite3/prebuilds/linux-${own.node}.node`],
    );
    const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
    t.match(await run(bin, ['--version'], { cwd: '/' }), { status: 0, stdout: `${version}\n` });
    const data = path.join(folders[0]!, 'data');
    const rotated = await run(bin, ['token', 'rotate', '--data', data]);
    t.match(rotated, { status: 0, stdout: /^[\w-]{43}\n$/ });
    await postOne(t, bin, data, rotated.stdout.trim());
    const exported = await run(bin, ['export', 's', '--format', 'ndjson', '--data', data]);
    t.match(JSON.parse(exported.stdout), { session_id: 's' });
    const reported = await run(bin, ['report', 's', '--data', data]);
    t.match(reported, { status: 0, stderr: '', stdout: /<svg role="img"/ });
  });

  t.test('settings are a conffile; modes, owners and dependencies are as they should be', async (t) => {
    const control = path.join(folders[0]!, 'control');
    await run('dpkg-deb', ['-e', first.deb, control]);
    t.equal(fs.readFileSync(path.join(control, 'conffiles'), 'utf8'), '/etc/courtd/courtd.env\n');
    const { stdout } = await run('dpkg-deb', ['-c', first.deb]);
    t.strictSame(
      stdout.split('\n').filter((line) => line !== '' && !/^.{10} root\/root /.test(line)),
      [],
    );
    t.match(stdout, /^-rwxr-xr-x root\/root .* \.\/usr\/bin\/courtd$/m);
    t.match(stdout, / \.\/usr\/lib\/systemd\/system\/courtd\.service$/m);
    t.notMatch(stdout, / \.\/lib\//, 'which is a link on Debian 13');
    const scripts = fs.readFileSync(path.join(control, 'postinst'), 'utf8');
    t.ok(scripts.indexOf('systemd-sysusers') < scripts.indexOf('systemd-tmpfiles'), 'the user first');
    t.notMatch(fs.readFileSync(path.join(control, 'prerm'), 'utf8'), /upgrade/, 'the port stays open');
    t.match(fs.readFileSync(path.join(control, 'control'), 'utf8'), /^Depends: .*systemd \(>= 252\)/m);
  });

  t.test('its SBOM', (t) => checkSbom(t, tree));

  t.test('it names who answers for it, and nobody else', async (t) => {
    t.match(
      fs.readFileSync(path.join(folders[0]!, 'control/control'), 'utf8'),
      `Maintainer: ${MAINTAINER}\n`,
    );
    t.match((await run('dpkg-deb', ['-f', first.deb, 'Homepage'])).stdout, SUPPORT);
    const changelog = await run('zcat', [path.join(tree, 'usr/share/doc/courtd/changelog.gz')]);
    t.match(changelog.stdout, ` -- ${MAINTAINER}  `);
    const bom = JSON.parse(fs.readFileSync(path.join(tree, 'usr/share/doc/courtd/sbom.cdx.json'), 'utf8'));
    t.match(bom.metadata.supplier, { name: 'Example Courts Ltd', url: [SUPPORT] });
  });

  t.test('the settings of a box are printed, and stand on the page', async (t) => {
    const shown = [...blocks(PAGE, 'deb822'), ...blocks(PAGE, 'conf')];
    const made = ['courtd.sources', '52courtd-upgrades'].map((name) =>
      fs.readFileSync(path.join(repo, name), 'utf8'),
    );
    t.strictSame(shown, made);
    for (const line of shown.join('').trim().split('\n')) t.ok(first.stdout.includes(`  ${line}\n`), line);
  });

  t.test('a box takes it, and the next one, from the repository', { skip: missingForBox() ?? false }, (t) =>
    walkUpdates(t, first.deb, repository),
  );

  const hasLintian = (await run('lintian', ['--version'])).status === 0;
  t.test('lintian is content', { skip: !hasLintian && 'there is no lintian' }, async (t) => {
    // zstd is for this test only: what is shipped is xz.
    const flags = ['--allow-root', '--suppress-tags', 'malformed-deb-archive', '--fail-on', 'error,warning'];
    const { status, stdout, stderr } = await run('lintian', [
      ...flags,
      '--tag-display-limit',
      '0',
      first.deb,
    ]);
    t.equal(status, 0, stdout + stderr);
  });
});

/** Starts the daemon, posts one event, and stops it. */
async function postOne(t: Test, bin: string, data: string, token: string): Promise<void> {
  const daemon = start(bin, ['serve', '--port', '0', '--data', data]);
  t.teardown(() => daemon.kill('SIGKILL'));
  const port = await new Promise<number>((resolve, reject) => {
    readline.createInterface(daemon.stdout).on('line', (line) => {
      const said = JSON.parse(line);
      if (said.msg === 'listening') resolve(said.port);
    });
    daemon.once('exit', () => reject(new Error('it has ended')));
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ ...event(), session_id: 's' });
  const answer = await fetch(`http://127.0.0.1:${port}/v1/events`, { method: 'POST', headers, body });
  t.strictSame(await answer.json(), { accepted: 1, duplicates: 0 });
  daemon.kill('SIGTERM');
  t.strictSame(await once(daemon, 'exit'), [0, null]);
}
