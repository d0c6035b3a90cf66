import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { missingPrograms } from '../harness/needs.ts';

/** Programs that a simulated power cut takes, and the Debian package that each is in. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'qemu-storage-daemon': 'qemu-system-common',
  fusermount3: 'fuse3',
  'mkfs.ext4': 'e2fsprogs',
  losetup: 'mount',
};
const DEVICES = ['/dev/fuse', '/dev/loop-control'];

/** @returns what this machine lacks for simulated power cuts, and what to do about it; undefined if it has all. */
export function missingNeeds(): string | undefined {
  if (process.getuid?.() !== 0) return 'Power cuts take root, for loop devices and mounts: run it with sudo.';
  const missing = missingPrograms(PROGRAMS);
  if (missing !== undefined) return missing;
  const closed = DEVICES.filter((device) => !fs.existsSync(device));
  if (closed.length > 0) {
    return `There is no ${closed.join(' and no ')} here: run it on a machine, or in a container that has them.`;
  }
  try {
    execFileSync('losetup', ['-f'], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `No loop device can be had here: ${(error as Error).message.trim()}`;
  }
}
