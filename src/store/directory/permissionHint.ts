import fs from 'node:fs';
import os from 'node:os';
import { isActing } from '../../base/processIdentity.ts';

/** @returns how this user gets at a data directory that is closed to it, or at a file in it. */
export function permissionHint(closed: string, directory: string): string {
  if (closed !== directory) {
    return `give it the owner and group of its directory ("sudo chown --reference=${directory} ${closed} && sudo chmod 660 ${closed}")`;
  }
  if (!isActing()) return howToEnter(directory);
  return `root works there as its owner, user ${process.geteuid?.()}, to whom it must be open, and every directory above it`;
}

/** With sudo, or as a member of its group. */
function howToEnter(directory: string): string {
  try {
    const [group] = lineOf('/etc/group', fs.statSync(directory).gid) ?? [];
    const { username } = os.userInfo();
    // Members of root's group can do more than this.
    if (group === undefined || group === 'root') return 'use sudo';
    return `use sudo, or join its group ("sudo usermod -aG ${group} ${username}", then log in again)`;
  } catch {
    // The directory around it is closed as well, or this user has no name.
    return 'use sudo, or join the group that owns it';
  }
}

/** @returns whether the user is in the group; also where that cannot be told, because the box does not list the user. */
export function isMember(uid: number, gid: number): boolean {
  const user = lineOf('/etc/passwd', uid);
  if (user === undefined || Number(user[3]) === gid) return true;
  const members = lineOf('/etc/group', gid)?.[3]?.split(',') ?? [];
  return members.includes(user[0]!);
}

/** @returns the fields of a user's or a group's line, whose number is the third. */
function lineOf(file: string, id: number): string[] | undefined {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  return lines.map((line) => line.split(':')).find((fields) => fields[2] === String(id));
}
