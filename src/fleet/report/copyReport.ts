import type { CopyStatus } from '../../health/status.ts';
import type { Epoch } from '../../store/layout/epochs.ts';
import type { Lag, ShippedOf } from '../../store/read/shipLag.ts';
import {
  isRecent,
  isSeqOrNull,
  isTextOrNull,
  knownUpTo,
  readReport,
  runDirectory,
  writeReport,
} from './reportFile.ts';

/** The progress of a copy, as `backup --follow` writes it to `copy.json` of the runtime directory. Null means unknown. */
export interface CopyReport {
  /** When it was written, ISO 8601: a follower that runs writes every few seconds. */
  readonly at: string;
  /** An absolute path. */
  readonly place: string;
  readonly epoch: string | null;
  /** The copy has every event up to here. */
  readonly seq: number | null;
  /** When it was last brought up to date. */
  readonly last_at: string | null;
  /** The fault, and what to do. */
  readonly error: string | null;
}

const FILE = 'copy.json';

export function writeCopyReport(runDir: string | undefined, report: Omit<CopyReport, 'at'>): void {
  writeReport(runDir, FILE, { at: new Date().toISOString(), ...report });
}

/** @param env of a command or of the daemon. @param data the path of the data directory. */
export function readCopyReport(env: NodeJS.ProcessEnv, data: string): CopyReport | undefined {
  return readReport<CopyReport>(
    runDirectory(env, data),
    FILE,
    ({ at, place, epoch, seq, last_at, error }) =>
      typeof at === 'string' &&
      typeof place === 'string' &&
      [epoch, last_at, error].every(isTextOrNull) &&
      isSeqOrNull(seq),
  );
}

/** @param readLag reads what readShipLag returns. @returns null if no copy is set up. */
export function viewCopy(
  data: string,
  readLag: (shippedOf: ShippedOf) => Lag,
  env = process.env,
): CopyStatus | null {
  const report = readCopyReport(env, data);
  const place = report?.place ?? env.COURTD_COPY_DIR;
  if (place === undefined) return null;
  const upTo = (epochs: readonly Epoch[]) => knownUpTo(report?.epoch, report?.seq, epochs);
  const { epochs, behind } = readLag((epochs) => upTo(epochs) ?? 0);
  const sinceMs = behind?.oldestMs;
  const stopped = 'Nothing keeps the copy current. Run "sudo systemctl start courtd-copy".';
  return {
    place,
    seq: upTo(epochs) ?? null,
    behind_events: behind?.events ?? null,
    behind_s: sinceMs === undefined ? 0 : Math.max(0, Math.round((Date.now() - sinceMs) / 1_000)),
    last_at: report?.last_at ?? null,
    error: report?.error ?? (report && isRecent(report) ? null : stopped),
  };
}
