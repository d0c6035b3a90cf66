import { UsageError } from '../../base/operatorError.ts';
import type { CopyStatus, ShipStatus } from '../../health/boxStatus.ts';
import type { PruneSelection } from '../../store/keep/expiredEvents.ts';
import { parseDuration } from './optionParsers.ts';

/** Keeps events for COURTD_SHIP_HOLD until they are shipped and copied, if that is set up. @throws {UsageError} */
export function holdOf(
  ship: ShipStatus | null,
  copy: CopyStatus | null,
  env = process.env,
): Pick<PruneSelection, 'hold'> {
  const seqs = [...(ship === null ? [] : [ship.shipped_seq ?? 0]), ...(copy === null ? [] : [copy.seq ?? 0])];
  const { COURTD_SHIP_HOLD: text = '30d' } = env;
  try {
    const beforeMs = Date.now() - 1_000 * parseDuration(text);
    return seqs.length > 0 ? { hold: { afterSeq: Math.min(...seqs), beforeMs } } : {};
  } catch (error) {
    throw new UsageError(`COURTD_SHIP_HOLD=${text} is not a time. ${(error as Error).message}`);
  }
}
