import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import type { ShipState, ShipView } from '../../health/shipStatus.ts';
import { type Lag, readShipLag, type ShippedOf } from '../../store/read/shipLag.ts';
import { shownUrl } from '../nats/address.ts';
import { isRunning, knownShipped, readReport, runDirectory, type ShipReport } from './report.ts';

/** @returns how far shipping is, by the shipper's last report and the database. */
export function readShipView(directory: DataDirectory, db: Database): ShipView {
  return viewShip(directory, (shippedOf) => readShipLag(db, shippedOf));
}

/** @param readLag reads what readShipLag returns. */
export function viewShip(
  directory: DataDirectory,
  readLag: (shippedOf: ShippedOf) => Lag,
  env = process.env,
): ShipView {
  const { COURTD_SHIP_URL: url, COURTD_SHIP_BOX: box } = env;
  const report = readReport(runDirectory(env, directory.path));
  const isSetUp = report !== undefined || url !== undefined;
  const { epochs, newestSeq, behind, erasedMs } = readLag((all) =>
    isSetUp ? (knownShipped(report, all) ?? 0) : undefined,
  );
  const [epoch, now] = [epochs.at(-1)?.name ?? null, Date.now()];
  const running = report !== undefined && isRunning(report);
  const isFenced = report?.state === 'fenced' && report.epoch === epoch;
  const error = report?.state === 'fenced' && !isFenced ? null : (report?.error ?? null);
  const named = stillNamed(report, erasedMs);
  const state = isFenced ? 'fenced' : stateOf(report, running, behind?.events ?? 0);
  return {
    running,
    isSetUp,
    box: report?.box ?? box ?? null,
    epoch,
    url: report?.url ?? (url === undefined ? null : shownUrl(url)),
    state: named !== undefined && state === 'current' ? 'behind' : state,
    shipped_seq: knownShipped(report, epochs) ?? null,
    newest_seq: newestSeq,
    behind_events: behind?.events ?? null,
    behind_s: behind ? Math.max(0, Math.round((now - (behind.oldestMs ?? now)) / 1_000)) : null,
    last_ack_at: report?.last_ack_at ?? null,
    error: named === undefined ? error : [error, named].filter((part) => part !== null).join(' '),
  };
}

function stateOf(report: ShipReport | undefined, running: boolean, behind: number): ShipState {
  if (report === undefined) return 'off';
  if (report.state === 'fenced') return 'connecting';
  if (running || report.state === 'refused') return report.state;
  return behind === 0 ? 'current' : 'behind';
}

/** @returns that a copy still names who was erased, unless its report says so; undefined: it does not. */
function stillNamed(report: ShipReport | undefined, erasedMs: number | null): string | undefined {
  const isApplied = erasedMs === null || (report?.erased_ms ?? -1) >= erasedMs;
  if (!report?.url.startsWith('file:') || isApplied || report.names_erased) return undefined;
  return `The copy still names who was erased on ${new Date(erasedMs).toISOString().slice(0, 10)}. It is written again when it is there and the shipper runs.`;
}
