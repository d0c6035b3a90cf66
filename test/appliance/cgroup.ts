import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Workshop } from '../harness/workshop.ts';

/** Where the hierarchies are that systemd uses: with both kinds of cgroups mounted, or with version 2 alone. */
const HIERARCHIES = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup/systemd'];
const UNIFIED = '/sys/fs/cgroup';
const TRIES = 200;

/** @returns the roots of the hierarchies. */
export function cgroupFolders(): string[] {
  const hybrid = HIERARCHIES.filter((folder) => fs.existsSync(path.join(folder, 'cgroup.procs')));
  return hybrid.length > 0 ? hybrid : [UNIFIED];
}

/**
 * Makes a cgroup for one container, so that several can run at once; it is removed with the workshop.
 * @returns the files that take a process in.
 */
export function makeCgroup(workshop: Workshop, name: string): string[] {
  const folders = cgroupFolders().map((folder) => path.join(folder, name));
  for (const folder of folders) {
    fs.mkdirSync(folder);
    workshop.onEnd(() => remove(folder));
  }
  return folders.map((folder) => path.join(folder, 'cgroup.procs'));
}

/** Processes that were killed may be in it for a moment yet. */
function remove(folder: string): void {
  for (let tries = 1; ; tries++) {
    try {
      for (const inner of foldersIn(folder)) fs.rmdirSync(inner);
      return;
    } catch (error) {
      if (tries === TRIES) throw error;
      spawnSync('sleep', ['0.05']);
    }
  }
}

/** @returns all folders in it and itself, the innermost first. */
function foldersIn(folder: string): string[] {
  if (!fs.existsSync(folder)) return [];
  const inner = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...inner.flatMap(({ name }) => foldersIn(path.join(folder, name))), folder];
}
