import { FILES_CHECK_MS, RESERVE_BYTES } from '../../base/limits.ts';
import { isPruning } from './directoryLock.ts';
import { fillReserve, freeBytes, isReserveReleased, reclaimReserve, reservedBytes } from './diskReserve.ts';

/**
 * Maintains the daemon's reserve (diskReserve.ts). While it is released a prune is running on a full disk,
 * and no event is stored until the prune has ended: cameras would use up the space that it needs. If the
 * prune was interrupted, the reserve is refilled before events are stored again.
 */
export class ReserveKeeper {
  readonly #directory: string;
  readonly #hold: (isHeld: boolean) => void;
  readonly #timer: NodeJS.Timeout;
  #hadReserve = false;
  #isHeld = false;

  /** @param hold called with whether events are to be refused. */
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
      // The directory is not accessible: whoever writes to it will report that.
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
