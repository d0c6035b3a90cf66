import type { Test } from 'tap';
import { Random } from '../../src/vendor/simulate/random.ts';

/** @returns chance for one test, from a seed that it prints; `SEED=N npx tap FILE` gives the same chance again. */
export function chanceOf(t: Pick<Test, 'comment'>): Random {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32);
  t.comment(`SEED=${seed}`);
  return new Random(seed);
}
