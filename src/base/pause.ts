import { setTimeout as sleep } from 'node:timers/promises';

/** Waits so many milliseconds, or until the signal aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}
