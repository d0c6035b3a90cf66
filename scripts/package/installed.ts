import { execFileSync } from 'node:child_process';

/** @returns a field of a Debian package that is installed here: `Version`, `source:Package`. */
export function fieldOf(debian: string, field: string): string {
  return execFileSync('dpkg-query', ['-W', '-f', `\${${field}}`, debian], { encoding: 'utf8' });
}
