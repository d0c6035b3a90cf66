import fs from 'node:fs';
import type { Architecture } from './architecture.ts';
import { fieldOf } from './installed.ts';

/** Files that building a package takes, and the Debian package that each is in. */
const FILES: Readonly<Record<string, string>> = {
  '/usr/bin/dh': 'debhelper',
  '/usr/bin/dpkg-architecture': 'dpkg-dev',
  '/usr/bin/make': 'make',
  '/usr/bin/xz': 'xz-utils',
  '/usr/bin/strip': 'binutils',
  '/usr/bin/git': 'git',
};
const DEBHELPER_LEAST = 13;

/**
 * @returns what this machine lacks to build packages, and what to do about it; undefined where it has all.
 * @param isChecked with lintian, which a quick build does without.
 */
export function missingNeeds(architectures: readonly Architecture[], isChecked: boolean): string | undefined {
  const files: Record<string, string> = { ...FILES, ...(isChecked ? { '/usr/bin/lintian': 'lintian' } : {}) };
  for (const { libatomic, strip } of architectures) {
    files[libatomic.file] = libatomic.debian;
    files[strip.file] = strip.debian;
  }
  const missing = Object.entries(files).filter(([file]) => !fs.existsSync(file));
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(([, debian]) => debian))].join(' ');
    return `Building a package takes Debian's tools: apt-get install --no-install-recommends ${packages}`;
  }
  const version = fieldOf('debhelper', 'Version');
  if (Number.parseInt(version, 10) >= DEBHELPER_LEAST) return undefined;
  return `Building a package takes debhelper ${DEBHELPER_LEAST} or newer: this is ${version}.`;
}
