import fs from 'node:fs';
import path from 'node:path';

export const README = fs.readFileSync(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');

/** @returns the first code block of a language. */
export function block(language: string): string {
  return new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(README)?.[1] ?? '';
}
