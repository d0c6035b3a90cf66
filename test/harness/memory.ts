import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');

/** @returns what this process keeps in memory, in MiB, once all that is garbage is gone. */
export function usedMib(): number {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 ** 2;
}
