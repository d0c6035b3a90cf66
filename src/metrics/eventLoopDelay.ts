import { Histogram } from '../base/histogram.ts';
import { every } from '../base/pause.ts';

const EVERY_MS = 100;
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const;

/**
 * How late timers are, ten times a second: how long a request waits before any work is done for it. Node's monitorEventLoopDelay
 * gives percentiles since its last reset, which two independent readers cannot share.
 */
export class EventLoopDelay {
  readonly seconds = new Histogram(SECONDS);
  #dueAt = performance.now() + EVERY_MS;
  readonly stop = every(EVERY_MS, () => {
    const now = performance.now();
    this.seconds.observe(Math.max(0, now - this.#dueAt) / 1_000);
    this.#dueAt = now + EVERY_MS;
  });
}
