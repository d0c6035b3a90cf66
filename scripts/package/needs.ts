import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Architecture } from './architecture.ts';
import { ROOT } from './release.ts';

/** The files that a build needs, each with its Debian package. */
const FILES: Readonly<Record<string, string>> = {
  '/usr/bin/dh': 'debhelper',
  '/usr/bin/dpkg-architecture': 'dpkg-dev',
  '/usr/bin/make': 'make',
  '/usr/bin/xz': 'xz-utils',
  '/usr/bin/strip': 'binutils',
  '/usr/bin/git': 'git',
};
/** lintian checks the package, which a quick build skips. */
export const FOR_CHECK = { '/usr/bin/lintian': 'lintian' };
export const FOR_REPOSITORY = {
  '/usr/bin/apt-ftparchive': 'apt-utils',
  '/usr/bin/gpg': 'gpg',
  '/usr/bin/gpg-agent': 'gpg-agent',
};
const DEBHELPER_LEAST = 13;
/** Run by Node. */
export const COMPILER = path.join(ROOT, 'node_modules/typescript/bin/tsc');

/**
 * @param more files that this build needs besides, each with its Debian package.
 * @returns a sentence about what is missing and how to install it; undefined if nothing is.
 */
export function missingNeeds(
  architectures: readonly Architecture[],
  more: Readonly<Record<string, string>> = {},
): string | undefined {
  if (!fs.existsSync(COMPILER))
    return 'Building a package needs TypeScript, which "npm ci --omit=dev" leaves out: run "npm ci", and then this again.';
  const files: Record<string, string> = { ...FILES, ...more };
  for (const { libatomic, strip } of architectures) {
    files[libatomic.file] = libatomic.debian;
    files[strip.file] = strip.debian;
  }
  const missing = Object.entries(files).filter(([file]) => !fs.existsSync(file));
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(([, debian]) => debian))].join(' ');
    const fewer = architectures.length > 1 ? ' (less is needed for one architecture: "-- --arch amd64")' : '';
    return `Building a package needs Debian's tools: apt-get install --no-install-recommends ${packages}${fewer}`;
  }
  const version = fieldOf('debhelper', 'Version');
  if (Number.parseInt(version, 10) >= DEBHELPER_LEAST) return undefined;
  return `Building a package needs debhelper ${DEBHELPER_LEAST} or newer: this is ${version}.`;
}

/** @returns a field of an installed Debian package, such as `Version` or `source:Package`. */
export function fieldOf(debian: string, field: string): string {
  return execFileSync('dpkg-query', ['-W', '-f', `\${${field}}`, debian], { encoding: 'utf8' });
}
