import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { run } from '../harness/daemon.ts';

const UNITS = path.resolve(import.meta.dirname, '../../systemd');

t.test('no unit with the network can reach control.sock or the database', (t) => {
  const files = fs.readdirSync(UNITS).filter((name) => name.endsWith('.service'));
  const withNetwork = files.filter((name) => {
    const settings = fs.readFileSync(path.join(UNITS, name), 'utf8').replaceAll(/^#.*$/gm, '');
    const of = (key: string) =>
      [...settings.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].flatMap(([, value = '']) => value.split(' '));
    if (of('PrivateNetwork').includes('yes')) return false;
    t.ok(of('InaccessiblePaths').includes('-/var/lib/courtd'), `${name}: the data directory`);
    t.ok(of('TemporaryFileSystem').includes('/run:ro'), `${name}: /run`);
    t.notOk(of('User').includes('courtd'), `${name}: its user`);
    t.strictSame(of('SupplementaryGroups'), [], `${name}: its groups`);
    // Such as a proxy of the socket.
    const shown = [
      ...of('BindPaths'),
      ...of('BindReadOnlyPaths'),
      ...of('Requires'),
      ...of('ReadWritePaths'),
    ];
    t.notMatch(shown.join(' '), /control|\/var\/lib\/courtd/, `${name}: what it is shown`);
    return true;
  });
  t.strictSame(withNetwork.sort(), ['courtd-alert.service', 'courtd-ship.service']);
  for (const name of fs.readdirSync(UNITS).filter((name) => /\.(service|socket)$/.test(name)))
    t.notMatch(fs.readFileSync(path.join(UNITS, name), 'utf8'), /socket-proxyd|ListenStream=.*control/, name);
  t.end();
});

/** @returns what a unit would have courtd do: the arguments of each call. */
async function calls(name: string, settings: Record<string, string>): Promise<string[]> {
  const text = fs.readFileSync(path.join(UNITS, name), 'utf8').replaceAll('$$', '$').replaceAll('%%', '%');
  const scripts = [...text.matchAll(/^ExecStart=\/bin\/sh -c '(.+)'$/gm)].map(([, script]) => script!);
  t.ok(scripts.length > 0, name);
  const all: string[] = [];
  for (const script of scripts) {
    const told = script.replace('exec /usr/bin/courtd', "printf '<%s>'");
    const { status, stdout } = await run('sh', ['-c', told], {
      env: { PATH: process.env.PATH, ...settings },
    });
    t.equal(status, 0, script);
    if (stdout !== '') all.push(stdout);
  }
  return all;
}

t.test('the backup timer: an empty setting counts as unset', async (t) => {
  const backup = (settings: Record<string, string>) =>
    calls('courtd-backup.service', { COURTD_BACKUP_DIR: '/mnt/a b', ...settings });
  t.strictSame(await backup({}), ['<backup></mnt/a b/><--keep><7>']);
  t.strictSame(await backup({ COURTD_BACKUP_KEEP: '' }), ['<backup></mnt/a b/><--keep><7>']);
  t.strictSame(await backup({ COURTD_BACKUP_KEEP: '3' }), ['<backup></mnt/a b/><--keep><3>']);
});
