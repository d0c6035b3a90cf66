import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { run } from '../harness/daemon.ts';

const UNITS = path.resolve(import.meta.dirname, '../../systemd');
const SERVICES = [
  'courtd.service',
  'courtd-backup.service',
  'courtd-prune.service',
  'courtd-feed.service',
  'courtd-ship.service',
  'courtd-alert.service',
];

/** What of /run a service sees. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  'courtd.service': ['/run/systemd/notify'],
  'courtd-ship.service': [
    '/run/courtd-feed.sock -/run/systemd/resolve -/run/NetworkManager -/run/resolvconf',
  ],
  'courtd-alert.service': [
    '/run/courtd-control.sock:/var/lib/courtd/control.sock',
    '-/run/systemd/resolve -/run/NetworkManager -/run/resolvconf -/run/systemd/system -/run/dbus/system_bus_socket',
  ],
};
/** What is empty for a service but for that. */
const EMPTY: Readonly<Record<string, string>> = { 'courtd-alert.service': '/run:ro /var/lib/courtd:ro' };

t.test('no line of hardening takes from V8 what it needs', (t) => {
  for (const name of SERVICES) {
    const settings = fs.readFileSync(path.join(UNITS, name), 'utf8').replaceAll(/^#.*$/gm, '');
    t.notMatch(settings, /^(MemoryDenyWriteExecute|LimitAS)=/m, name);
    t.match(settings, /^SystemCallErrorNumber=EPERM$/m, name);
  }
  t.end();
});

t.test(
  'nothing that others on the host share can be written or reached: /run, /dev/shm, message queues',
  (t) => {
    for (const name of SERVICES) {
      const settings = fs.readFileSync(path.join(UNITS, name), 'utf8').replaceAll(/^#.*$/gm, '');
      const of = (key: string) =>
        [...settings.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value);
      t.strictSame(of('TemporaryFileSystem'), [EMPTY[name] ?? '/run:ro'], name);
      t.strictSame(of('PrivateIPC'), ['yes'], name);
      t.equal(of('InaccessiblePaths')[0], '-/dev/shm -/dev/mqueue', name);
      t.strictSame(of('BindPaths'), [], name);
      t.strictSame(of('BindReadOnlyPaths'), SHOWN[name] ?? [], name);
    }
    t.end();
  },
);

t.test('below /run the daemon has one directory of its own, which others may read and not write', (t) => {
  const settings = fs.readFileSync(path.join(UNITS, 'courtd.service'), 'utf8');
  t.match(settings, /^RuntimeDirectory=courtd\nRuntimeDirectoryMode=0755$/m);
  t.end();
});

t.test('who has the network does not have the data, and reaches no address that is not allowed', (t) => {
  const settings = fs.readFileSync(path.join(UNITS, 'courtd-ship.service'), 'utf8').replaceAll(/^#.*$/gm, '');
  t.match(settings, /^User=courtd-ship$/m);
  t.match(settings, /^InaccessiblePaths=.*-\/var\/lib\/courtd /m);
  t.match(settings, /^IPAddressDeny=any$/m);
  t.notMatch(settings, /^(IPAddressAllow|StateDirectory|ReadWritePaths)=/m);
  t.match(fs.readFileSync(path.join(UNITS, 'courtd-feed.service'), 'utf8'), /^PrivateNetwork=yes$/m);
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

t.test('the timers: an empty setting counts as unset, and 0 never means every event', async (t) => {
  const backup = (settings: Record<string, string>) =>
    calls('courtd-backup.service', { COURTD_BACKUP_DIR: '/mnt/a b', ...settings });
  t.strictSame(await backup({}), ['<backup></mnt/a b/><--keep><7>']);
  t.strictSame(await backup({ COURTD_BACKUP_KEEP: '' }), ['<backup></mnt/a b/><--keep><7>']);
  t.strictSame(await backup({ COURTD_BACKUP_KEEP: '3' }), ['<backup></mnt/a b/><--keep><3>']);
  const prune = (positions: string, all: string) =>
    calls('courtd-prune.service', { COURTD_KEEP_POSITIONS: positions, COURTD_KEEP: all });
  t.strictSame(await prune('30d', '365d'), [
    '<prune><--yes><--older-than><30d><--type><PLAYER_POSITION>',
    '<prune><--yes><--older-than><365d>',
  ]);
  for (const off of ['', '0', '0d', '00', '00d', '0000s'])
    t.strictSame(await prune(off, off), [], `"${off}"`);
  for (const wrong of ['1 d', '0 d', '0dd', 'never']) {
    t.strictSame(
      await prune('', wrong),
      [`<prune><--yes><--older-than><${wrong}>`],
      'what is wrong is left to courtd to say',
    );
  }
});
