import { setTimeout as sleep } from 'node:timers/promises';

/** Waits so many milliseconds, or until the signal aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/** Does work again and again, for as long as something else keeps this process. @returns what ends that. */
export function every(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
}
