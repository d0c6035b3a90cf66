import type { Cleanup } from './daemon.ts';

/** Replaces `performance.now()` until the test is over. @param now the milliseconds that it says. */
export function setClock(t: Cleanup, now: () => number): void {
  performance.now = now;
  // The real one is its prototype's.
  t.teardown(() => Reflect.deleteProperty(performance, 'now'));
}

/** Stops it: nothing takes long, however slow this machine is. @returns what moves it on. */
export function stopClock(t: Cleanup): (ms: number) => void {
  // Whole: steps of whole milliseconds then add up to exactly what is expected.
  let now = Math.ceil(performance.now());
  setClock(t, () => now);
  return (ms) => {
    now += ms;
  };
}
