import fs from 'node:fs';
import os from 'node:os';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { isActing } from '../../base/processIdentity.ts';

/**
 * @param denied the data directory, or a file in it, that this user may not access.
 * @returns what to do about it: the end of a sentence.
 */
export function permissionHint(denied: string, directory: DataDirectory): string {
  if (denied !== directory.path) {
    return `give it the owner and group of its directory ("sudo chown --reference=${directory} ${denied} && sudo chmod 660 ${denied}")`;
  }
  if (!isActing()) return howToGetAccess(directory);
  return `root works there as its owner, user ${process.geteuid?.()}, who needs access to it and to every directory above it`;
}

/** With sudo, or as a member of the group. */
function howToGetAccess(directory: DataDirectory): string {
  try {
    const [group] = entryOf('/etc/group', fs.statSync(directory.path).gid) ?? [];
    const { username } = os.userInfo();
    // Membership in root's group grants more than this access.
    if (group === undefined || group === 'root') return 'use sudo';
    return `use sudo, or join its group ("sudo usermod -aG ${group} ${username}", then log in again)`;
  } catch {
    // The parent directory is not accessible either, or this user has no name.
    return 'use sudo, or join the group that owns it';
  }
}

/**
 * @returns whether the user is in the group; true where that cannot be determined, because the box does not
 * list the user.
 */
export function isMember(uid: number, gid: number): boolean {
  const user = entryOf('/etc/passwd', uid);
  if (user === undefined || Number(user[3]) === gid) return true;
  const members = entryOf('/etc/group', gid)?.[3]?.split(',') ?? [];
  return members.includes(user[0]!);
}

/** @returns the fields of the line of a user or a group in `file`; the third is its id. */
function entryOf(file: string, id: number): string[] | undefined {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  return lines.map((line) => line.split(':')).find((fields) => fields[2] === String(id));
}
