import fs from 'node:fs';
import os from 'node:os';
import { isActing } from '../../base/processIdentity.ts';

/** @returns how this user gets at a data directory that is denied to it, or at a file in it. */
export function permissionHint(denied: string, directory: string): string {
  if (denied !== directory) {
    return `give it the owner and group of its directory ("sudo chown --reference=${directory} ${denied} && sudo chmod 660 ${denied}")`;
  }
  if (!isActing()) return howToGetAccess(directory);
  return `root works there as its owner, user ${process.geteuid?.()}, who needs access to it and to every directory above it`;
}

/** With sudo, or as a member of its group. */
function howToGetAccess(directory: string): string {
  try {
    const [group] = entryOf('/etc/group', fs.statSync(directory).gid) ?? [];
    const { username } = os.userInfo();
    // Members of root's group can do more than this.
    if (group === undefined || group === 'root') return 'use sudo';
    return `use sudo, or join its group ("sudo usermod -aG ${group} ${username}", then log in again)`;
  } catch {
    // The directory around it is denied as well, or this user has no name.
    return 'use sudo, or join the group that owns it';
  }
}

/** @returns whether the user is in the group; also where that cannot be told, because the box does not list the user. */
export function isMember(uid: number, gid: number): boolean {
  const user = entryOf('/etc/passwd', uid);
  if (user === undefined || Number(user[3]) === gid) return true;
  const members = entryOf('/etc/group', gid)?.[3]?.split(',') ?? [];
  return members.includes(user[0]!);
}

/** @returns the fields of a user's or a group's line, whose number is the third. */
function entryOf(file: string, id: number): string[] | undefined {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  return lines.map((line) => line.split(':')).find((fields) => fields[2] === String(id));
}
