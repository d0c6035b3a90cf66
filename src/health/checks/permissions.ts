import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { isMember, permissionHint } from '../../store/directory/permissionHint.ts';
import { explain } from '../../store/open/openErrors.ts';
import { fail, ok, warn } from '../finding.ts';
import type { Box } from './box.ts';
import { type Check, type Fault, together } from './check.ts';

const OPEN_TO_OTHERS = 0o007;

export const permissions: Check = {
  name: 'permissions',
  look: (box) => {
    const { data } = box;
    try {
      fs.accessSync(data.path, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
      const owner = fs.statSync(data.path);
      // What the daemon opens, or has kept; exports and the like do not matter.
      const files = data.ownNames().map((name) => aboutFile(data.at(name), data, owner));
      return together(
        [aboutUser(box, owner), aboutDirectory(data, owner), ...files],
        ok(`${data} and what is in it are open to the daemon and its group, and closed to others.`),
      );
    } catch (error) {
      throw explain(error, data);
    }
  },
};

function aboutUser({ data, unit }: Box, { uid }: fs.Stats): Fault {
  const user = unit?.User;
  if (user === undefined) return undefined;
  const line = fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`${user}:`));
  if (line === undefined || Number(line.split(':')[2]) === uid) return undefined;
  return fail(
    `${data} does not belong to the user ${user}, whom courtd.service runs as.`,
    `"sudo chown -R ${user}:${user} ${data}".`,
  );
}

function aboutDirectory(data: DataDirectory, { mode }: fs.Stats): Fault {
  if ((mode & OPEN_TO_OTHERS) === 0) return undefined;
  return warn(`${data} is open to every user of this machine.`, `"sudo chmod o-rwx ${data}".`);
}

function aboutFile(file: string, data: DataDirectory, { uid, gid }: fs.Stats): Fault {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  // A command that ends takes away what SQLite has beside the database.
  if (stat === undefined) return undefined;
  if (stat.isSymbolicLink()) {
    return fail(
      `${file} is a link, and courtd follows none there.`,
      'Remove it, or put in its place what it leads to.',
    );
  }
  if (!stat.isFile()) return fail(`${file} is no file, and none of courtd's.`, 'Remove it.');
  const isOwners = stat.uid === uid && (stat.mode & 0o600) === 0o600;
  const isGroups = (stat.gid === gid || isMember(uid, stat.gid)) && (stat.mode & 0o060) === 0o060;
  if (uid !== 0 && !isOwners && !isGroups) {
    const hint = permissionHint(file, data);
    return fail(`${file} is closed to the daemon.`, `${hint[0]!.toUpperCase()}${hint.slice(1)}.`);
  }
  if ((stat.mode & OPEN_TO_OTHERS) === 0) return undefined;
  return warn(`${file} is open to every user of this machine.`, `"sudo chmod o-rwx ${file}".`);
}
