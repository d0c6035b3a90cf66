import fs from 'node:fs';
import os from 'node:os';

/** @returns how this user gets at a directory that is closed to it: with sudo, or as a member of its group. */
export function howToEnter(directory: string): string {
  try {
    const group = nameOf(fs.statSync(directory).gid);
    const { username } = os.userInfo();
    // Members of root's group can do more than this.
    if (group === undefined || group === 'root') return 'use sudo';
    return `use sudo, or join its group ("sudo usermod -aG ${group} ${username}", then log in again)`;
  } catch {
    // The directory around it is closed as well, or this user has no name.
    return 'use sudo, or join the group that owns it';
  }
}

function nameOf(gid: number): string | undefined {
  const line = fs
    .readFileSync('/etc/group', 'utf8')
    .split('\n')
    .find((line) => line.split(':')[2] === String(gid));
  return line?.split(':')[0];
}
