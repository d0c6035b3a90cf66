import { SHIP_STATES, type ShipState } from '../../health/status.ts';
import { isSeqOrNull, isText, isTextOrNull, ReportFile } from '../report/reportFile.ts';

/** How far a shipper is. */
export interface ShipReport {
  /** When it was written, ISO 8601: a shipper that runs writes every few seconds. */
  readonly at: string;
  /** Its name at headquarters. */
  readonly box: string;
  /** Without anything secret. */
  readonly url: string;
  readonly epoch: string | null;
  readonly state: ShipState;
  /** Headquarters has every event up to here; null: not known. */
  readonly shipped_seq: number | null;
  /** ISO 8601; null: nothing has been acknowledged yet. */
  readonly last_ack_at: string | null;
  /** The fault, and what to do; null: none. */
  readonly error: string | null;
}

export const shipReport = new ReportFile<ShipReport>('ship/ship.json', {
  at: isText,
  box: isText,
  url: isText,
  epoch: isTextOrNull,
  state: (value) => SHIP_STATES.some((state) => state === value),
  shipped_seq: isSeqOrNull,
  last_ack_at: isTextOrNull,
  error: isTextOrNull,
});
