import { FILES_CHECK_MS, RESERVE_BYTES } from '../../base/limits.ts';
import { isPruning } from './directoryLock.ts';
import { freeBytes, isOwed, makeReserve, reservedBytes, takeBack } from './diskReserve.ts';

/**
 * Keeps the daemon's reserve (diskReserve.ts). Once it is gone, a prune works on a full disk: no event is taken until it has ended, or the
 * cameras would have used up what it needs. The same if it was cut short: then the reserve comes before events.
 */
export class ReserveKeeper {
  readonly #directory: string;
  readonly #hold: (isHeld: boolean) => void;
  readonly #timer: NodeJS.Timeout;
  #hadAny = false;
  #isHeld = false;

  /** @param hold whether events are to be refused. */
  constructor(directory: string, hold: (isHeld: boolean) => void) {
    this.#directory = directory;
    this.#hold = hold;
    this.#timer = setInterval(() => this.#look(), FILES_CHECK_MS).unref();
    this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    try {
      if (reservedBytes(this.#directory) < RESERVE_BYTES) this.#mend();
      else this.#setHeld(false);
      this.#hadAny = reservedBytes(this.#directory) > 0;
    } catch {
      // The directory cannot be looked at: whoever writes to it will tell.
    }
  }

  #mend(): void {
    const isStillOwed = isOwed(this.#directory);
    const isGone = (this.#hadAny || isStillOwed) && reservedBytes(this.#directory) === 0;
    const mayFit = freeBytes(this.#directory) > RESERVE_BYTES;
    if (!isGone && !mayFit && !this.#isHeld && !isStillOwed) return;
    if (!isPruning(this.#directory)) {
      takeBack(this.#directory);
      makeReserve(this.#directory, isStillOwed ? 0 : undefined);
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
