import type { DataDirectory } from '../../base/dataDirectory.ts';
import type { ShipState, ShipStatus } from '../../health/boxStatus.ts';
import type { Lag, Shipped } from '../../store/read/shipLag.ts';
import { shownUrl } from '../nats/address.ts';
import { behindBy, isRecent, reportFile, runDirectory } from './reportFile.ts';

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

export const shipReport = reportFile<ShipReport>('ship/ship.json');

/** @param readLag reads what readShipLag returns. @returns null if no URL is set and no shipper has run. */
export function viewShip(
  directory: DataDirectory,
  readLag: (...shipped: Shipped) => Lag,
  env = process.env,
): ShipStatus | null {
  const { COURTD_SHIP_URL: url, COURTD_SHIP_BOX: box } = env;
  const report = shipReport.read(runDirectory(env, directory.path));
  if (report === undefined && url === undefined) return null;
  const lag = readLag(report?.epoch, report?.shipped_seq);
  const epoch = lag.epochs.at(-1)?.name ?? null;
  const running = report !== undefined && isRecent(report);
  const isFenced = report?.state === 'fenced' && report.epoch === epoch;
  const stopped = 'The shipper does not run. Run "sudo systemctl start courtd-ship".';
  const told = report?.state === 'fenced' && !isFenced ? null : (report?.error ?? null);
  return {
    box: report?.box ?? box ?? null,
    epoch,
    url: report?.url ?? (url === undefined ? null : shownUrl(url)),
    state: isFenced ? 'fenced' : stateOf(report, running, lag.events),
    shipped_seq: lag.shippedSeq,
    newest_seq: lag.newestSeq,
    ...behindBy(lag),
    last_ack_at: report?.last_ack_at ?? null,
    error: told ?? (running || lag.events === 0 ? null : stopped),
  };
}

function stateOf(report: ShipReport | undefined, running: boolean, behind: number): ShipState {
  if (report === undefined || report.state === 'fenced') return 'connecting';
  if (running || report.state === 'refused') return report.state;
  return behind === 0 ? 'current' : 'behind';
}
