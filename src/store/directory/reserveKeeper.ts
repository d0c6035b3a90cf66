import { FILES_CHECK_MS, RESERVE_BYTES } from '../../base/limits.ts';
import { isPruning } from './directoryLock.ts';
import { fillReserve, freeBytes, isReserveReleased, reclaimReserve, reservedBytes } from './diskReserve.ts';

/**
 * Maintains the daemon's reserve (diskReserve.ts). While it is released a prune is running on a full disk,
 * and no event is stored until the prune has ended: cameras would use up the space that it needs. If the
 * prune was interrupted, the reserve is refilled before events are stored again.
 * @param hold called with whether events are to be refused.
 * @returns a function that stops it.
 */
export function keepReserve(directory: string, hold: (isHeld: boolean) => void): () => void {
  let [hadReserve, isHeld] = [false, false];
  const setHeld = (toHold: boolean) => {
    if (toHold !== isHeld) hold(toHold);
    isHeld = toHold;
  };
  const refill = () => {
    const isReleased = isReserveReleased(directory);
    const isGone = (hadReserve || isReleased) && reservedBytes(directory) === 0;
    const mayFit = freeBytes(directory) > RESERVE_BYTES;
    if (!isGone && !mayFit && !isHeld && !isReleased) return;
    if (!isPruning(directory)) {
      reclaimReserve(directory);
      fillReserve(directory, isReleased ? 0 : undefined);
      setHeld(false);
    } else if (isGone) {
      setHeld(true);
    }
  };
  const check = () => {
    try {
      if (reservedBytes(directory) < RESERVE_BYTES) refill();
      else setHeld(false);
      hadReserve = reservedBytes(directory) > 0;
    } catch {
      // The directory is not accessible: whoever writes to it will report that.
    }
  };
  const timer = setInterval(check, FILES_CHECK_MS).unref();
  check();
  return () => clearInterval(timer);
}
