import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Architecture } from './architecture.ts';
import { fieldOf } from './needs.ts';
import { debianVersion, type Release, ROOT } from './release.ts';

export interface DebOptions {
  /** The directory for the package. */
  readonly destination: string;
  /** Compresses fast, for tests: the package is larger. */
  readonly isQuick: boolean;
}

/**
 * Builds the package from `folder`/stage.
 * @returns its path.
 * @throws {Error} with the output of Debian's tools, if they fail.
 */
export function makeDeb(
  folder: string,
  { debian, libatomic }: Architecture,
  release: Release,
  { destination, isQuick }: DebOptions,
): string {
  const rules = path.join(folder, 'debian');
  fs.cpSync(path.join(import.meta.dirname, 'debian'), rules, { recursive: true });
  const control = path.join(rules, 'control');
  fs.writeFileSync(control, addressed(fs.readFileSync(control, 'utf8'), release));
  fs.writeFileSync(path.join(rules, 'changelog'), changelogOf(release));
  const timers = addUnits(rules);
  fs.mkdirSync(destination, { recursive: true });
  const env = {
    ...process.env,
    SOURCE_DATE_EPOCH: String(release.time),
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    DEB_RULES_REQUIRES_ROOT: 'no',
    COURTD_TIMERS: timers.join(' '),
    COURTD_DIST: destination,
    COURTD_COMPRESSION: isQuick ? '-Zzstd -z1' : '-Zxz',
    COURTD_BUILT_USING: sourceOf(libatomic.debian),
  };
  const command = ['-f', '-a', debian, '-c', 'debian/rules', 'binary'];
  try {
    execFileSync('dpkg-architecture', command, { cwd: folder, env, stdio: 'pipe' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
    throw new Error(`debian/rules failed:\n${stdout}${stderr}`);
  }
  return path.join(destination, `courtd_${debianVersion(release)}_${debian}.deb`);
}

/** A rule of Prometheus is none. */
const UNIT = /^courtd.*\.(?:service|socket|timer|sysusers|tmpfiles)$/;

/** Puts the units where debhelper finds them. @returns the names of the timers. */
function addUnits(rules: string): string[] {
  const units = fs.readdirSync(path.join(ROOT, 'systemd')).filter((name) => UNIT.test(name));
  for (const unit of units) {
    // debhelper expects PACKAGE.TYPE, PACKAGE.NAME.TYPE for a unit with another name, PACKAGE@.NAME.TYPE for its template.
    const name = unit.replace(/^courtd-([^@.]*)(@?)/, 'courtd$2.courtd-$1');
    fs.copyFileSync(path.join(ROOT, 'systemd', unit), path.join(rules, name));
  }
  return units.filter((unit) => unit.endsWith('.timer')).map((unit) => path.basename(unit, '.timer'));
}

/** @returns the source package of a Debian library, in the form of the field Built-Using. */
function sourceOf(debian: string): string {
  return `${fieldOf(debian, 'source:Package')} (= ${fieldOf(debian, 'source:Version')})`;
}

/** debian/control must name somebody; nobody can think that this one exists (RFC 2606 keeps `.invalid` free). */
const NOBODY = 'No maintainer named <nobody@maintainer.invalid>';

/** @returns debian/control with the integrator's addresses. */
function addressed(control: string, { maintainer = NOBODY, support }: Release): string {
  const homepage = support === undefined ? '' : `\nHomepage: ${support}`;
  return control.replace(/^Maintainer:.*$/m, () => `Maintainer: ${maintainer}${homepage}`);
}

function changelogOf(release: Release): string {
  const date = new Date(release.time * 1000).toUTCString().replace('GMT', '+0000');
  return `courtd (${debianVersion(release)}) stable; urgency=medium

  * Version ${release.version}.

 -- ${release.maintainer ?? NOBODY}  ${date}
`;
}
