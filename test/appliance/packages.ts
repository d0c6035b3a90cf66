import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { missingPrograms } from '../harness/needs.ts';
import type { Workshop } from '../harness/workshop.ts';
import { expect } from './walk.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** Debian's name of each kind of machine that there is a package for. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
/** What scripts/package.ts takes, and the Debian package that each is in; it says itself what else it lacks. */
const PROGRAMS = {
  dh: 'debhelper',
  'dpkg-architecture': 'dpkg-dev',
  make: 'make',
  xz: 'xz-utils',
  strip: 'binutils',
  git: 'git',
};

/** The packages of one walk. */
export interface Packages {
  readonly now: string;
  /** The same program in a newer version. */
  readonly next: string;
}

export const NEXT = '9.1.0';

/** @returns what this machine lacks to build the package, and what to do about it; undefined if it has all. */
export function missingToBuild(): string | undefined {
  if (!(process.arch in ARCHITECTURES)) return `There is no package for ${process.arch}.`;
  return missingPrograms(PROGRAMS);
}

/** Builds the package of this checkout, and makes a newer one of it. */
export async function makePackages(workshop: Workshop): Promise<Packages> {
  const now = await build(workshop.file('dist'));
  return { now, next: await newer(workshop, now, NEXT, () => {}) };
}

async function build(folder: string): Promise<string> {
  const arch = ARCHITECTURES[process.arch]!;
  const args = [path.join(ROOT, 'scripts/package.ts'), '--quick', '--arch', arch, '--to', folder];
  await promisify(execFile)(process.execPath, args);
  const deb = fs.readdirSync(folder).find((name) => name.endsWith('.deb'));
  expect(deb !== undefined, 'npm run package left no .deb');
  return path.join(folder, deb);
}

/** Takes a package apart, changes its version and what else is asked, and packs it again. */
export async function newer(
  workshop: Workshop,
  deb: string,
  version: string,
  change: (tree: string) => void,
): Promise<string> {
  const run = promisify(execFile);
  const tree = workshop.file(version);
  await run('dpkg-deb', ['--raw-extract', deb, tree]);
  const control = path.join(tree, 'DEBIAN/control');
  fs.writeFileSync(
    control,
    fs.readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${version}`),
  );
  const manifest = path.join(tree, 'usr/lib/courtd/package.json');
  fs.writeFileSync(manifest, JSON.stringify({ ...JSON.parse(fs.readFileSync(manifest, 'utf8')), version }));
  change(tree);
  const file = workshop.file(`courtd_${version}.deb`);
  await run('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z1', '--build', tree, file]);
  fs.rmSync(tree, { recursive: true });
  return file;
}
