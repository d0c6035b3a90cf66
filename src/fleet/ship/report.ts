import { SHIP_STATES, type ShipState } from '../../health/shipStatus.ts';
import * as runFile from '../report/reportFile.ts';

/** How far a shipper is, as it writes that to `ship/ship.json` of the runtime directory. */
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

export const REPORT_EVERY_MS = 5_000;
const FILE = 'ship/ship.json';

export function writeReport(runDir: string | undefined, report: ShipReport): void {
  runFile.writeReport(runDir, FILE, report);
}

export function readReport(runDir: string | undefined): ShipReport | undefined {
  return runFile.readReport<ShipReport>(
    runDir,
    FILE,
    ({ at, box, url, epoch, state, shipped_seq, last_ack_at, error }) =>
      [at, box, url].every((one) => typeof one === 'string') &&
      [epoch, last_ack_at, error].every(runFile.isTextOrNull) &&
      SHIP_STATES.some((one) => one === state) &&
      runFile.isSeqOrNull(shipped_seq),
  );
}
