import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** What is built: everything that the bytes of a package depend on beside the files of the checkout. */
export interface Release {
  readonly version: string;
  /** Seconds since the epoch: of the last commit, so that the same commit gives the same bytes. */
  readonly time: number;
}

export interface ReleaseOptions {
  /** Instead of package.json's. */
  readonly version?: string | undefined;
  /** Behind the version, such as `+next`. */
  readonly suffix?: string | undefined;
}

/** @throws {Error} with a sentence, where the version is not one, or the checkout is no checkout. */
export function releaseOf({ version, suffix = '' }: ReleaseOptions): Release {
  const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const full = `${version ?? manifest.version}${suffix}`;
  if (!/^\d+\.\d+\.\d+[A-Za-z0-9.+~-]*$/.test(full)) {
    throw new Error(`"${full}" is not a version: give one such as 0.2.0, or a suffix such as +next.`);
  }
  return { version: full, time: timeOf(process.env.SOURCE_DATE_EPOCH) };
}

/** Debian sorts 0.2.0~rc.1 before 0.2.0, and takes what is behind a hyphen for something else. */
export function debianVersion({ version }: Release): string {
  return version.replaceAll('-', '~');
}

function timeOf(epoch: string | undefined): number {
  if (epoch) return Number(epoch);
  try {
    return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, stdio: 'pipe' }));
  } catch {
    throw new Error(
      'This is no git checkout, so the time of its last commit is not known: set SOURCE_DATE_EPOCH.',
    );
  }
}
