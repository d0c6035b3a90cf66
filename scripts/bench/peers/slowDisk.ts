import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { say } from '../../../src/cli/terminal/output.ts';
import type { Contender } from '../contender.ts';
import { hasStrace } from './syncs.ts';

/** By how many milliseconds a sync is slowed down: like a small box's flash, or a spinning disk. */
export const SLOWER_MS = 5;

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int slow(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  usleep(${SLOWER_MS * 1000});
  return real(fd);
}
int fsync(int fd) { return slow("fsync", fd); }
int fdatasync(int fd) { return slow("fdatasync", fd); }
`;
const SYNCS = 'fsync,fdatasync';

/**
 * A disk whose sync takes SLOWER_MS longer: a library for whatever syncs through the C library, and for the others strace, which
 * costs them about a microsecond for each of their other system calls.
 */
export class SlowDisk {
  readonly #library: string | undefined;

  /** @param folder for the library. */
  constructor(folder: string) {
    this.#library = build(folder);
    if (this.#library === undefined) say('Most of the slow disk is left out: there is no C compiler.');
  }

  /** @returns the program, with its arguments, that starts a contender so; undefined where that cannot be done here. */
  under({ isWithoutLibc }: Contender): readonly string[] | undefined {
    if (isWithoutLibc) return hasStrace() ? traced() : undefined;
    return this.#library === undefined ? undefined : ['env', `LD_PRELOAD=${this.#library}`];
  }
}

function traced(): readonly string[] {
  const inject = `inject=${SYNCS}:delay_enter=${SLOWER_MS * 1000}`;
  const quiet = ['-qq', '-o', '/dev/null'];
  return ['strace', '-D', '-f', '--seccomp-bpf', ...quiet, '-e', `trace=${SYNCS}`, '-e', inject];
}

/** @returns the library; undefined where there is no C compiler. */
function build(folder: string): string | undefined {
  const [source, library] = [path.join(folder, 'slow.c'), path.join(folder, 'slow.so')];
  fs.writeFileSync(source, SOURCE);
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  return library;
}
