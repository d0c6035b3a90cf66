import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import type { ShipState, ShipView } from '../../health/shipStatus.ts';
import type { Epoch } from '../../store/layout/epochs.ts';
import { type Lag, readShipLag, type ShippedOf } from '../../store/read/shipLag.ts';
import { shownUrl } from '../nats/address.ts';
import { askReport } from './feedClient.ts';
import { knownShipped, readNote, type ShipReport } from './shipNote.ts';

/** Of the command, or of the daemon. */
interface Settings {
  readonly url?: string | undefined;
  readonly box?: string | undefined;
}

/** @returns the settings of a command that has no options for them. */
export function shipSettingsOf(env: NodeJS.ProcessEnv): Settings {
  return { url: env.COURTD_SHIP_URL, box: env.COURTD_SHIP_BOX };
}

/**
 * Current, also without a running shipper: then the latest note counts.
 * @param settings of this command; the shipper's own count for more.
 */
export function readShipView(directory: DataDirectory, db: Database, settings: Settings): Promise<ShipView> {
  return viewShip(directory, (shippedOf) => readShipLag(db, shippedOf), settings);
}

/** The same, by the COURTD_SHIP_ variables of this process. */
export function readOwnShipView(directory: DataDirectory, db: Database): Promise<ShipView> {
  return readShipView(directory, db, shipSettingsOf(process.env));
}

/** The same, where the database is open already. @param readLag reads what readShipLag gives. */
export async function viewShip(
  directory: DataDirectory,
  readLag: (shippedOf: ShippedOf) => Lag,
  settings: Settings,
): Promise<ShipView> {
  const note = readNote(directory);
  const report = (await askReport(directory)) ?? (note && { ...note, running: false });
  const isSetUp = report !== undefined || settings.url !== undefined;
  const from = (all: readonly Epoch[]) => (isSetUp ? (knownShipped(report, all) ?? 0) : undefined);
  const { epochs, newestSeq, behind, erasedMs } = readLag(from);
  const shipped = knownShipped(report, epochs);
  const epoch = epochs.at(-1)?.name ?? null;
  const running = report?.running ?? false;
  const isFencedNow = report?.state === 'fenced' && report.epoch === epoch;
  const state = isSetUp ? stateOf(report, running, isFencedNow, behind?.events ?? 0) : 'off';
  const error = report?.state === 'fenced' && !isFencedNow ? null : (report?.error ?? null);
  const named = stillNamed(report, erasedMs);
  return {
    running,
    isSetUp,
    box: report?.box ?? settings.box ?? null,
    epoch,
    url: report?.url ?? (settings.url === undefined ? null : shownUrl(settings.url)),
    state: named !== undefined && state === 'current' ? 'behind' : state,
    shipped_seq: shipped ?? null,
    newest_seq: newestSeq,
    behind_events: behind?.events ?? null,
    behind_s: behind === undefined ? null : behindSeconds(behind.oldestMs),
    last_ack_at: report?.last_ack_at ?? null,
    error: named === undefined ? error : [error, named].filter((part) => part !== null).join(' '),
  };
}

/** @returns who is still in a copy, in a sentence, unless the report says so; undefined: nobody who was erased. */
function stillNamed(report: ShipReport | undefined, erasedMs: number | null): string | undefined {
  const isApplied = erasedMs === null || (report?.erased_ms ?? -1) >= erasedMs;
  if (!report?.url.startsWith('file:') || isApplied || report.names_erased) return undefined;
  return `The copy still names who was erased on ${new Date(erasedMs).toISOString().slice(0, 10)}: it is written anew when it is there and the shipper runs.`;
}

function stateOf(
  report: ShipReport | undefined,
  running: boolean,
  isFencedNow: boolean,
  behind: number,
): ShipState {
  if (isFencedNow) return 'fenced';
  if (report === undefined) return 'off';
  if (running || report.state === 'refused') return report.state === 'fenced' ? 'connecting' : report.state;
  return behind === 0 ? 'current' : 'behind';
}

function behindSeconds(oldestMs: number | undefined): number {
  return oldestMs === undefined ? 0 : Math.max(0, Math.round((Date.now() - oldestMs) / 1_000));
}
