import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Everything that the bytes of a package depend on, apart from the files of the checkout. */
export interface Release {
  readonly version: string;
  /** Seconds since the epoch, of the last commit: so the same commit gives the same bytes. */
  readonly time: number;
  /** Who answers for the package: `Name <address>`. */
  readonly maintainer: string | undefined;
  /** The address of a page with help and updates. */
  readonly support: string | undefined;
}

export interface ReleaseOptions {
  /** Replaces the version in package.json. */
  readonly version?: string | undefined;
  /** Appended to the version, such as `+next`. */
  readonly suffix?: string | undefined;
  readonly maintainer?: string | undefined;
  readonly support?: string | undefined;
}

/** In the form of Debian's field Maintainer, in which a comma would begin another one. */
const MAINTAINER = /^[^\s<>,][^<>,\n]* <[^\s<>@,]+@[^\s<>@,]+\.[^\s<>@,.]+>$/;

/** @throws {Error} if one of them is malformed, or the time of the last commit is unknown. */
export function releaseOf({ version, suffix = '', maintainer, support }: ReleaseOptions): Release {
  const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const full = `${version ?? manifest.version}${suffix}`;
  if (!/^\d+\.\d+\.\d+[A-Za-z0-9.+~-]*$/.test(full)) {
    throw new Error(`"${full}" is not a valid version: give one such as 0.2.0, or a suffix such as +next.`);
  }
  if (maintainer !== undefined && !MAINTAINER.test(maintainer))
    throw new Error(`"${maintainer}" is not a maintainer. Give 'Name <address>', without commas.`);
  if (support !== undefined && !/^https?:\/\/\S+$/.test(support))
    throw new Error(`"${support}" is not an address of a page. It must begin with https://.`);
  return { version: full, maintainer, support, time: timeOf(process.env.SOURCE_DATE_EPOCH) };
}

/** Debian sorts 0.2.0~rc.1 before 0.2.0, and reads what follows a hyphen as the revision of the package. */
export function debianVersion({ version }: Release): string {
  return version.replaceAll('-', '~');
}

function timeOf(epoch: string | undefined): number {
  if (epoch) return Number(epoch);
  try {
    return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, stdio: 'pipe' }));
  } catch {
    throw new Error(
      'This is not a git checkout, so the time of the last commit is unknown: set SOURCE_DATE_EPOCH.',
    );
  }
}
