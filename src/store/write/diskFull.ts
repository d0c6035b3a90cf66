import { FULL_RETRY_MS } from '../../base/limits.ts';

/** Milliseconds without a failure before the log says that there is room again: on an almost full disk, small requests still fit. */
const FULL_QUIET_MS = 5_000;

/** What the daemon logs about a full disk. */
export interface DiskFullEvents {
  /** The disk is full. Once each time it fills up, not for each request. */
  full(error: unknown): void;
  /** Writes have succeeded for a while, or there is free space again. */
  healed(): void;
}

/**
 * Whether the disk is full, as a circuit breaker. Once a second one write is let through, a request or a
 * probe, so a full disk causes no load and is noticed to have space again within a second. Disk full is not
 * final: see ../../ARCHITECTURE.md#disk-full-is-not-final.
 */
export class DiskFull {
  readonly #on: DiskFullEvents;
  readonly #hasRoom: () => boolean;
  /**
   * When a write last failed, in milliseconds of the monotonic clock; undefined while the disk is not full.
   */
  #lastAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param hasRoom commits a write, and returns whether there is space for more. */
  constructor(on: DiskFullEvents, hasRoom: () => boolean) {
    this.#on = on;
    this.#hasRoom = hasRoom;
  }

  /** Whether requests are rejected without a try. */
  get isRefusing(): boolean {
    return this.#lastAt !== undefined && performance.now() - this.#lastAt < FULL_RETRY_MS;
  }

  /** Whether it is full, or was until just now. */
  get isFull(): boolean {
    return this.#lastAt !== undefined;
  }

  /** Call it when a write failed because the disk is full. */
  failed(error: unknown): void {
    if (this.#lastAt === undefined) this.#on.full(error);
    this.#lastAt = performance.now();
    this.#timer ??= setInterval(() => this.#hasRoom() && this.succeeded(), FULL_RETRY_MS).unref();
  }

  /** Call it after every write that succeeded. */
  succeeded(): void {
    if (this.#lastAt === undefined || performance.now() - this.#lastAt < FULL_QUIET_MS) return;
    this.stop();
    this.#lastAt = undefined;
    this.#on.healed();
  }

  /** Stops probing. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
