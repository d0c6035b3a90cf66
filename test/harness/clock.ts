import type { Cleanup } from './daemon.ts';

/** Stops `performance.now()`: nothing takes long, however slow this machine is. @returns what moves it on. */
export function stopClock(t: Cleanup): (ms: number) => void {
  // Whole: steps of whole milliseconds then add up to exactly what is expected.
  let now = Math.ceil(performance.now());
  performance.now = () => now;
  // The real one is its prototype's.
  t.teardown(() => Reflect.deleteProperty(performance, 'now'));
  return (ms) => {
    now += ms;
  };
}
