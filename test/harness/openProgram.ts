import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BIN, useProgram } from './daemon.ts';

const ROOT = path.resolve(BIN, '../..');

/**
 * For a file of tests in which root starts the program as another user: below a folder that only root may enter, such as a clone
 * in /root, it is a copy of the program from now on.
 */
export function openProgram(): void {
  if (process.getuid?.() !== 0 || isOpen(ROOT)) return;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-open-'));
  process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  const lock = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));
  const packages = Object.entries<{ readonly dev?: boolean }>(lock.packages)
    .filter(([name, { dev }]) => name.lastIndexOf('node_modules') === 0 && dev !== true)
    .map(([name]) => name);
  const parts = ['bin', 'src', 'package.json', 'node_modules/.bin/node', ...packages];
  const installed = parts.filter((name) => fs.existsSync(path.join(ROOT, name)));
  execFileSync('cp', ['-a', '--reflink=auto', '--parents', ...installed, folder], { cwd: ROOT });
  execFileSync('chmod', ['-R', 'o+rX', folder]);
  useProgram(path.join(folder, 'bin/courtd'));
}

/** @returns whether every user may read what is there. */
function isOpen(folder: string): boolean {
  const { mode } = fs.statSync(folder);
  return (mode & 0o005) === 0o005 && (folder === '/' || isOpen(path.dirname(folder)));
}
