import { FULL_QUIET_MS, FULL_RETRY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';

/** What the daemon logs of a full disk. */
export interface DiskFullEvents {
  /** The disk is full: told once, not for each request. */
  full(error: unknown): void;
  /** Writing has succeeded again for a while, or there is room. */
  healed(): void;
}

export interface DiskFullOptions {
  /** How long nothing is tried after the disk was full. */
  readonly fullRetryMs?: number;
  /** How long writing must have succeeded before `healed` is told: on an almost full disk a small request still fits. */
  readonly fullQuietMs?: number;
}

/**
 * Whether the disk is full. It is tried again once a second, by a request or where none comes by itself, so that a full disk is no work,
 * heals by itself, and is called full no longer than it is.
 */
export class DiskFull {
  readonly #on: DiskFullEvents;
  readonly #hasRoom: () => boolean;
  readonly #retryMs: number;
  readonly #quietMs: number;
  /** When it was last found full, in milliseconds of the monotonic clock. */
  #lastAt: number | undefined;
  #isHeld = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param hasRoom writes something, and looks whether there is room for more. */
  constructor(
    on: DiskFullEvents,
    hasRoom: () => boolean,
    { fullRetryMs = FULL_RETRY_MS, fullQuietMs = FULL_QUIET_MS }: DiskFullOptions = {},
  ) {
    this.#on = on;
    this.#hasRoom = hasRoom;
    this.#retryMs = fullRetryMs;
    this.#quietMs = fullQuietMs;
  }

  /** Whether a request is refused without a try. */
  get isRefusing(): boolean {
    if (this.#isHeld) return true;
    return this.#lastAt !== undefined && performance.now() - this.#lastAt < this.#retryMs;
  }

  failed(error: unknown): void {
    if (this.#lastAt === undefined) this.#on.full(error);
    this.#lastAt = performance.now();
    this.#timer ??= setInterval(() => this.#probe(), FULL_RETRY_MS).unref();
  }

  succeeded(): void {
    if (this.#lastAt === undefined || performance.now() - this.#lastAt < this.#quietMs) return;
    this.stop();
    this.#lastAt = undefined;
    this.#on.healed();
  }

  /** While a prune makes room: what comes free is for it. */
  hold(isHeld: boolean): void {
    if (isHeld) this.failed(new OperatorError('a prune is freeing space'));
    this.#isHeld = isHeld;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #probe(): void {
    if (!this.#isHeld && this.#hasRoom()) this.succeeded();
  }
}
