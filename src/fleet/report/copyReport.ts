import type { CopyStatus } from '../../health/boxStatus.ts';
import type { Lag, Shipped } from '../../store/read/shipLag.ts';
import { behindBy, isRecent, reportFile, runDirectory } from './reportFile.ts';

/** How far a copy is, as `backup --follow` reports it. What is not known is null. */
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

export const copyReport = reportFile<CopyReport>('copy.json');

/** @param readLag reads what readShipLag returns. @returns null if there is none: without COURTD_COPY_DIR it ends with its follower. */
export function viewCopy(
  data: string,
  readLag: (...shipped: Shipped) => Lag,
  env = process.env,
): CopyStatus | null {
  const report = copyReport.read(runDirectory(env, data));
  const isRunning = report !== undefined && isRecent(report);
  const place = isRunning ? report.place : env.COURTD_COPY_DIR;
  if (place === undefined) return null;
  const lag = readLag(report?.epoch, report?.seq);
  const stopped = 'Nothing keeps the copy current. Run "sudo systemctl start courtd-copy".';
  return {
    place,
    seq: lag.shippedSeq,
    ...behindBy(lag),
    last_at: report?.last_at ?? null,
    error: report?.error ?? (isRunning ? null : stopped),
  };
}
