import { UsageError } from '../../base/operatorError.ts';
import type { ShipView } from '../../health/shipStatus.ts';
import type { PruneSelection } from '../../store/retention/expiredEvents.ts';
import { parseDuration } from './optionParsers.ts';

/** Keeps events for COURTD_SHIP_HOLD until they are shipped, if events are shipped from here at all. @throws {UsageError} */
export function holdOf({ isSetUp, shipped_seq }: ShipView): Pick<PruneSelection, 'hold'> {
  const { COURTD_SHIP_HOLD: text = '30d' } = process.env;
  try {
    const beforeMs = Date.now() - 1_000 * parseDuration(text);
    return isSetUp ? { hold: { afterSeq: shipped_seq ?? 0, beforeMs } } : {};
  } catch (error) {
    throw new UsageError(`COURTD_SHIP_HOLD=${text} is no time. ${(error as Error).message}`);
  }
}
