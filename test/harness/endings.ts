import type { Cleanup } from './daemon.ts';

/** In the place of a test, for what a script starts: `await using` ends it with its block, the last first. */
export class Endings implements Cleanup {
  readonly #ends: (() => unknown)[] = [];

  teardown(end: () => unknown): void {
    this.#ends.push(end);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) await end();
  }
}
