import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { FAULTS, type Fault } from './faults.ts';

/**
 * `npm run mutations -- [NAME...]` applies each fault of faults.ts to a copy of the checkout and runs the test that must find it. Exit
 * status 1 if a fault is not found or a test is red without one.
 */

export const ROOT = path.resolve(import.meta.dirname, '../..');
const NOT_COPIED = new Set(['node_modules', '.git', '.tap', 'data', 'dist']);
/** A test that is still running has found its fault: none of the named ones takes longer than a few seconds. */
const TEST_MS = 120_000;

/** A copy of the checkout in a folder of its own. */
class Copy {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-mutations-'));

  constructor() {
    for (const name of fs.readdirSync(ROOT).filter((name) => !NOT_COPIED.has(name)))
      fs.cpSync(path.join(ROOT, name), path.join(this.folder, name), { recursive: true, filter: isCopied });
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(this.folder, 'node_modules'));
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** @returns whether a file of tests is green. */
  async passes(test: string): Promise<boolean> {
    // A group of its own, so that the daemons of a test that hangs end with it.
    const child = spawn(process.execPath, ['--import=./test/harness/preload.js', test], {
      cwd: this.folder,
      env: { ...process.env, NODE_OPTIONS: '', TAP_BAIL: '1', TAP_TIMEOUT: '300' },
      stdio: 'ignore',
      detached: true,
    });
    const timer = setTimeout(() => endGroup(child.pid!), TEST_MS);
    const [status] = await once(child, 'exit');
    clearTimeout(timer);
    endGroup(child.pid!);
    return status === 0;
  }

  /** @returns whether the fault's test is red with it. @throws {Error} if the fault cannot be applied. */
  async finds(fault: Fault): Promise<boolean> {
    const file = path.join(this.folder, fault.file);
    const source = fs.readFileSync(file, 'utf8');
    fs.writeFileSync(file, mutated(source, fault));
    try {
      return !(await this.passes(fault.test));
    } finally {
      fs.writeFileSync(file, source);
    }
  }
}

/** @returns the source with the fault. @throws {Error} if its text does not occur exactly once. */
export function mutated(source: string, { name, file, from, to }: Fault): string {
  const parts = source.split(from);
  if (parts.length !== 2)
    throw new Error(`"${name}": its text occurs ${parts.length - 1} times in ${file}. Move the fault.`);
  return parts.join(to);
}

/** @returns how many of them were not found. */
export async function tryFaults(faults: readonly Fault[], tell: (line: string) => void): Promise<number> {
  const copy = new Copy();
  let found = 0;
  try {
    for (const test of new Set(faults.map(({ test }) => test)))
      if (!(await copy.passes(test))) throw new Error(`${test} is red without a fault.`);
    for (const fault of faults) {
      const startedAt = performance.now();
      const isFound = await copy.finds(fault);
      if (isFound) found++;
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      tell(`${isFound ? 'found    ' : 'NOT FOUND'} ${seconds.padStart(5)} s  ${fault.name}`);
    }
  } finally {
    copy.remove();
  }
  tell(`faults ${faults.length}, found ${found}`);
  return faults.length - found;
}

function isCopied(file: string): boolean {
  return path.basename(file) !== 'node_modules';
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

if (import.meta.main) {
  const names = process.argv.slice(2);
  const named = FAULTS.filter(({ name }) => names.length === 0 || names.includes(name));
  process.exitCode = (await tryFaults(named, console.log)) === 0 && named.length > 0 ? 0 : 1;
}
