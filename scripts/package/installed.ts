import { execFileSync } from 'node:child_process';

/** @returns a field of an installed Debian package, such as `Version` or `source:Package`. */
export function fieldOf(debian: string, field: string): string {
  return execFileSync('dpkg-query', ['-W', '-f', `\${${field}}`, debian], { encoding: 'utf8' });
}
