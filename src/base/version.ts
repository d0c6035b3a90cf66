import fs from 'node:fs';

/** @returns the version of courtd, as package.json beside `src` has it. */
export function courtdVersion(): string {
  return JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
