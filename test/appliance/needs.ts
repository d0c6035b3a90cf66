import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { missingPrograms } from '../harness/needs.ts';
import { cgroupFolders } from './cgroup.ts';

/** Programs that the proof takes, and the Debian package that each is in. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'systemd-nspawn': 'systemd-container',
  mmdebstrap: 'mmdebstrap',
  mount: 'mount',
  nsenter: 'util-linux',
  openssl: 'openssl',
};

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

/** @returns what this machine lacks to boot a Debian in a container, and what to do about it; undefined if it has all. */
export function missingNeeds(): string | undefined {
  if (process.getuid?.() !== 0) return 'Containers take root: run it with sudo.';
  const missing = missingPrograms(PROGRAMS);
  if (missing !== undefined) return missing;
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
