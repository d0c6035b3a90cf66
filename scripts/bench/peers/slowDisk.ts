import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

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

/**
 * A disk whose sync takes SLOWER_MS longer, for whatever syncs through the C library: InfluxDB does not.
 * @returns the program, with its arguments, that starts another one so; undefined where there is no C compiler.
 */
export function slowDisk(folder: string): readonly string[] | undefined {
  const [source, library] = [path.join(folder, 'slow.c'), path.join(folder, 'slow.so')];
  fs.writeFileSync(source, SOURCE);
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  fs.chmodSync(path.dirname(library), 0o711);
  return ['env', `LD_PRELOAD=${library}`];
}
