/** How many cases a property is tried with: in npm test a share of them, in test/properties.proof.ts all. */

const SHARE = 5;
let share = SHARE;

/** From now on all. Called before the file with the properties is loaded. */
export function tryAllRuns(): void {
  share = 1;
}

/** @returns what fast-check takes. */
export function numRuns(all: number): { numRuns: number } {
  return { numRuns: Math.ceil(all / share) };
}
