import fs from 'node:fs';

/** What a proof needs of the machine beyond what npm brings: why it is not here, for `skip`. */

/** Not in the PATH of a root that `su` made. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin'];

/**
 * Finds the programs also if this process did not look so far.
 * @param programs the Debian package that each is in.
 * @returns which are not installed, and what to do about it; undefined if all are.
 */
export function missingPrograms(programs: Readonly<Record<string, string>>): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), ...SYSTEM_FOLDERS];
  process.env.PATH = folders.join(':');
  const isInstalled = (program: string) => folders.some((folder) => fs.existsSync(`${folder}/${program}`));
  const missing = Object.keys(programs).filter((program) => !isInstalled(program));
  if (missing.length === 0) return undefined;
  const packages = missing.map((program) => programs[program]).join(' ');
  return `Missing: ${missing.join(', ')}. On Debian: apt-get install --no-install-recommends ${packages}`;
}

/** For what takes files of another user; false where this is root. */
export const withoutRoot: string | false =
  process.getuid?.() !== 0 && 'it takes files of another user, which only root can make: run it with sudo';
