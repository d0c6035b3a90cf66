import type { Plan } from './plan.ts';

/** Tries, at most: each plays a history. */
const TRIES = 300;

/**
 * Drops operations and lives of a plan as long as what is left still violates something.
 * @param violates plays one. @returns the shortest that was found.
 */
export async function shrink(plan: Plan, violates: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let best = plan;
  let tries = 0;
  for (let isShorter = true; isShorter; ) {
    isShorter = false;
    for (const shorter of shorterThan(best)) {
      if (++tries > TRIES) return best;
      if (!(await violates(shorter))) continue;
      best = shorter;
      isShorter = true;
      break;
    }
  }
  return best;
}

function* shorterThan(plan: Plan): Generator<Plan> {
  const { lives } = plan;
  for (const at of lives.keys()) if (lives.length > 1) yield { ...plan, lives: lives.toSpliced(at, 1) };
  for (const [at, life] of lives.entries()) {
    const of = life.operations.length;
    for (let size = of; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < of; from += size) {
        const operations = life.operations.toSpliced(from, size);
        yield { ...plan, lives: lives.with(at, { ...life, operations }) };
      }
    }
  }
}
