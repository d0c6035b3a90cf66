import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { cgroupFolders } from './cgroup.ts';

/** Programs that the proof takes, and the Debian package that each is in. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'systemd-nspawn': 'systemd-container',
  mmdebstrap: 'mmdebstrap',
  mount: 'mount',
  nsenter: 'util-linux',
  openssl: 'openssl',
};
/** Not in the PATH of a root that `su` made. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin'];

/** As systemd-nspawn does it: in a container without the right to, it fails. */
const NAMESPACES = [
  '--mount',
  '--pid',
  '--net',
  '--uts',
  '--ipc',
  '--fork',
  'mount',
  '-t',
  'tmpfs',
  'none',
  '/mnt',
];

/**
 * Finds the programs also where this process did not look so far.
 * @returns what this machine lacks to boot a Debian in a container, and what to do about it; undefined where it has all.
 */
export function missingNeeds(): string | undefined {
  if (process.getuid?.() !== 0) return 'Containers take root: run it with sudo.';
  const folders = [...(process.env.PATH ?? '').split(':'), ...SYSTEM_FOLDERS];
  process.env.PATH = folders.join(':');
  const isInstalled = (program: string) => folders.some((folder) => fs.existsSync(`${folder}/${program}`));
  const missing = Object.keys(PROGRAMS).filter((program) => !isInstalled(program));
  if (missing.length > 0) {
    const packages = missing.map((program) => PROGRAMS[program]).join(' ');
    return `Missing: ${missing.join(', ')}. On Debian: apt-get install --no-install-recommends ${packages}`;
  }
  const { status, stderr } = spawnSync('unshare', NAMESPACES, { encoding: 'utf8' });
  if (status !== 0) return `No container can be had here: ${stderr.trim()}`;
  const closed = cgroupFolders().find((folder) => !isWritable(folder));
  return closed === undefined ? undefined : `No container can be had here: ${closed} is read-only.`;
}

function isWritable(folder: string): boolean {
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
