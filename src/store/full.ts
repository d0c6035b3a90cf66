import { FULL_QUIET_MS, FULL_RETRY_MS } from '../protocol/limits.ts';

/** What the daemon logs of a full disk. */
export interface FullEvents {
  /** The disk is full: told once, not for each request. */
  full(error: unknown): void;
  /** Writing has worked again for a while. */
  healed(): void;
}

export interface FullOptions {
  /** How long nothing is tried after the disk was full. */
  readonly fullRetryMs?: number;
  /** How long writing must have worked before `healed` is told: on an almost full disk a small request still fits. */
  readonly fullQuietMs?: number;
}

/** Whether the disk is full. It is tried again once a second, so a full disk is no work and heals by itself. */
export class FullDisk {
  readonly #on: FullEvents;
  readonly #retryMs: number;
  readonly #quietMs: number;
  /** When it was last found full, in milliseconds of the monotonic clock. */
  #lastAt: number | undefined;

  constructor(
    on: FullEvents,
    { fullRetryMs = FULL_RETRY_MS, fullQuietMs = FULL_QUIET_MS }: FullOptions = {},
  ) {
    this.#on = on;
    this.#retryMs = fullRetryMs;
    this.#quietMs = fullQuietMs;
  }

  /** Whether a request is refused without a try. */
  get refuses(): boolean {
    return this.#lastAt !== undefined && performance.now() - this.#lastAt < this.#retryMs;
  }

  failed(error: unknown): void {
    if (this.#lastAt === undefined) this.#on.full(error);
    this.#lastAt = performance.now();
  }

  worked(): void {
    if (this.#lastAt === undefined || performance.now() - this.#lastAt < this.#quietMs) return;
    this.#lastAt = undefined;
    this.#on.healed();
  }
}
