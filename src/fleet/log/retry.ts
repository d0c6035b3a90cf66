import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Does work again until it succeeds.
 * @param passes whether an error may go away by itself.
 * @throws what it throws, if that does not pass or it has taken longer than `forMs`.
 */
export async function retry<Result>(
  work: () => Result | Promise<Result>,
  passes: (error: unknown) => boolean,
  { everyMs, forMs }: { readonly everyMs: number; readonly forMs: number },
): Promise<Result> {
  for (const end = performance.now() + forMs; ; await sleep(everyMs)) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error) || performance.now() > end) throw error;
    }
  }
}
