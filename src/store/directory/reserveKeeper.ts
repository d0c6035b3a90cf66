import { FILES_CHECK_MS, RESERVE_BYTES } from '../../base/limits.ts';
import { isPruning } from './directoryLock.ts';
import { fillReserve, freeBytes, isReserveReleased, reclaimReserve, reservedBytes } from './diskReserve.ts';

/**
 * Keeps the daemon's reserve (diskReserve.ts). Once it is gone, a prune works on a full disk: no event is taken until it has ended, or the
 * cameras would have used up what it needs. The same if it was cut short: then the reserve comes before events.
 */
export class ReserveKeeper {
  readonly #directory: string;
  readonly #hold: (isHeld: boolean) => void;
  readonly #timer: NodeJS.Timeout;
  #hadReserve = false;
  #isHeld = false;

  /** @param hold whether events are to be refused. */
  constructor(directory: string, hold: (isHeld: boolean) => void) {
    this.#directory = directory;
    this.#hold = hold;
    this.#timer = setInterval(() => this.#check(), FILES_CHECK_MS).unref();
    this.#check();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    try {
      if (reservedBytes(this.#directory) < RESERVE_BYTES) this.#refill();
      else this.#setHeld(false);
      this.#hadReserve = reservedBytes(this.#directory) > 0;
    } catch {
      // The directory cannot be looked at: whoever writes to it will tell.
    }
  }

  #refill(): void {
    const isReleased = isReserveReleased(this.#directory);
    const isGone = (this.#hadReserve || isReleased) && reservedBytes(this.#directory) === 0;
    const mayFit = freeBytes(this.#directory) > RESERVE_BYTES;
    if (!isGone && !mayFit && !this.#isHeld && !isReleased) return;
    if (!isPruning(this.#directory)) {
      reclaimReserve(this.#directory);
      fillReserve(this.#directory, isReleased ? 0 : undefined);
      this.#setHeld(false);
    } else if (isGone) {
      this.#setHeld(true);
    }
  }

  #setHeld(isHeld: boolean): void {
    if (isHeld !== this.#isHeld) this.#hold(isHeld);
    this.#isHeld = isHeld;
  }
}
