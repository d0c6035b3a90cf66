import { Histogram } from '../../base/histogram.ts';

/** In seconds: the bounds distinguish disks whose sync takes 0.1 ms and 0.5 ms, 40 ms and 100 ms, and one that stalls. */
const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
] as const;
const REQUESTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const;

/** How long the successful group commits of this process took. */
export class CommitMeter {
  /** From BEGIN to the end of COMMIT, in seconds. */
  readonly commitSeconds = new Histogram(SECONDS);
  /** COMMIT alone: writing and syncing the WAL, in seconds. */
  readonly syncSeconds = new Histogram(SECONDS);
  /** Requests in a commit. */
  readonly requests = new Histogram(REQUESTS);
  #beganAt = 0;
  #filledAt = 0;

  begin(): void {
    this.#beganAt = performance.now();
  }

  /** Everything is in the transaction, and COMMIT comes next. */
  filled(): void {
    this.#filledAt = performance.now();
  }

  committed(requests: number): void {
    const now = performance.now();
    this.commitSeconds.observe((now - this.#beganAt) / 1_000);
    this.syncSeconds.observe((now - this.#filledAt) / 1_000);
    this.requests.observe(requests);
  }
}
