import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { type Cleanup, run, temporaryFolder } from '../harness/daemon.ts';

const ON_PATH = path.resolve(import.meta.dirname, '../../scripts/package/courtd');

/** @returns the data directory that the installed program has, with these settings of the service. */
async function dataWith(settings: string): Promise<string> {
  const file = path.join(temporaryFolder(t), 'courtd.env');
  fs.writeFileSync(file, settings);
  const script = fs
    .readFileSync(ON_PATH, 'utf8')
    .replace('/etc/courtd/courtd.env', file)
    .replace(/^exec .*$/m, `printf '<%s>' "\${COURTD_DATA-}"`);
  const { status, stdout, stderr } = await run('sh', ['-c', script], { env: { PATH: process.env.PATH } });
  t.strictSame({ status, stderr }, { status: 0, stderr: '' }, JSON.stringify(settings));
  return stdout;
}

t.test('the program on the PATH reads the data directory as systemd does', async (t) => {
  for (const settings of [
    '',
    '#COURTD_DATA=/srv/a\n',
    'COURTD_DATA=\n',
    'COURTD_DATA=/srv/a\nCOURTD_DATA=\n',
  ]) {
    t.equal(await dataWith(settings), '<>', JSON.stringify(settings));
  }
  for (const value of [
    '/srv/a b',
    '/srv/a b \t',
    '"/srv/a b"',
    "'/srv/a b' ",
    ' /srv/a b',
    '/srv/a b\r',
    '"/srv/a b"\r',
  ]) {
    t.equal(await dataWith(`COURTD_VENUE=v\nCOURTD_DATA=${value}\n`), '</srv/a b>', JSON.stringify(value));
  }
  t.equal(await dataWith('COURTD_DATA=/srv/a\n  COURTD_DATA = /srv/b'), '</srv/b>', 'the last one');
  t.equal(await dataWith("COURTD_DATA=/srv/it's\n"), "</srv/it's>");
});

const PURGE = path.resolve(import.meta.dirname, '../../scripts/package/debian/courtd.postrm');

/** Runs the package's script with `folder` in the place of /var/lib. */
function purge(folder: string, ...env: string[]) {
  const script = fs
    .readFileSync(PURGE, 'utf8')
    .replaceAll('/var/lib', folder)
    .replaceAll('/var/backups', `${folder}/backups`);
  return run('env', [...env, 'sh', '-c', script, 'postrm', 'purge']);
}

function place(t: Cleanup, events: string): string {
  const folder = temporaryFolder(t);
  fs.mkdirSync(path.dirname(path.join(folder, events)), { recursive: true });
  fs.writeFileSync(path.join(folder, events), 'events');
  return folder;
}

t.test('a purge keeps the target of a symbolic link, and reports it', async (t) => {
  const folder = place(t, 'disk/courtd.db');
  fs.symlinkSync('disk', path.join(folder, 'courtd'));
  for (const env of [[], ['COURTD_PURGE_DATA=yes']]) {
    const { status, stdout } = await purge(folder, ...env);
    t.equal(status, 0);
    t.ok(stdout.startsWith(`The events are kept in ${folder}/disk, to which `), stdout);
    t.strictSame(fs.readdirSync(folder).sort(), ['courtd', 'disk']);
    t.ok(fs.existsSync(path.join(folder, 'disk/courtd.db')));
  }
});
