import fs from 'node:fs';
import path from 'node:path';
import { SMALL_FILE_BYTES } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import { SHIP_STATES, type ShipState } from '../../health/shipStatus.ts';
import type { Epoch } from '../../store/layout/epochs.ts';

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
  /** What is wrong and what to do; null: nothing. */
  readonly error: string | null;
  /** Of a copy: whether the error says that it names who was erased; absent: no. */
  readonly names_erased?: boolean;
  /** Of a copy: it names nobody who was erased up to then, milliseconds since 1970-01-01T00:00:00Z; absent or null: not known. */
  readonly erased_ms?: number | null;
}

/** A shipper that has not written for this long has ended. */
const SILENT_MS = 15_000;
export const REPORT_EVERY_MS = 5_000;
/** Of a sentence or a name: headquarters may be wordy, and what is longer than a small file could not be read back. */
const TEXT_CHARS = 900;

/**
 * @param env of a command or of the daemon. @param data the path of the data directory.
 * @returns the runtime directory; undefined if there is none.
 */
export function runDirectory(env: NodeJS.ProcessEnv, data: string): string | undefined {
  return env.COURTD_RUN_DIR ?? (data === '/var/lib/courtd' ? '/run/courtd' : undefined);
}

function fileIn(runDir: string): string {
  return path.join(runDir, 'ship', 'ship.json');
}

/** Writes the report aside and renames it. A failure, such as on a full disk, only makes the report older. */
export function writeReport(runDir: string | undefined, report: ShipReport): void {
  if (runDir === undefined) return;
  const file = fileIn(runDir);
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(`${file}.new`, `${JSON.stringify(bounded(report))}\n`);
    // The daemon and every user read it, whatever the umask.
    fs.chmodSync(`${file}.new`, 0o644);
    fs.renameSync(`${file}.new`, file);
  } catch {
    // The next one tries again.
  }
}

/** @returns the last report; undefined without one. Another user has written it, so it may be anything. */
export function readReport(runDir: string | undefined): ShipReport | undefined {
  if (runDir === undefined) return undefined;
  try {
    const fd = fs.openSync(
      fileIn(runDir),
      fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK,
    );
    try {
      const bytes = Buffer.alloc(SMALL_FILE_BYTES);
      const text = bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, 0));
      const report: unknown = membersOf(text);
      return isReport(report) ? report : undefined;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Whether the shipper that wrote it still runs, as far as can be told. */
export function isRunning({ at }: ShipReport, nowMs = Date.now()): boolean {
  return Math.abs(nowMs - Date.parse(at)) < SILENT_MS;
}

function isReport(value: unknown): value is ShipReport {
  const { at, box, url, epoch, state, shipped_seq, last_ack_at, error, erased_ms } = value as ShipReport;
  const isSeq = shipped_seq === null || (Number.isSafeInteger(shipped_seq) && shipped_seq >= 0);
  return (
    [at, box, url].every((one) => typeof one === 'string') &&
    [epoch, last_ack_at, error].every((one) => one === null || typeof one === 'string') &&
    SHIP_STATES.includes(state) &&
    isSeq &&
    (erased_ms == null || Number.isSafeInteger(erased_ms))
  );
}

function bounded(report: ShipReport): ShipReport {
  const short = <Text extends string | null>(text: Text) =>
    text && text.length > TEXT_CHARS ? (`${text.slice(0, TEXT_CHARS)}…` as Text) : text;
  return { ...report, url: short(report.url), error: short(report.error) };
}

/**
 * @returns up to which seq headquarters has this log; undefined if that is not known. A report of an older epoch counts up to where
 * that epoch ended.
 */
export function knownShipped(
  report: Pick<ShipReport, 'epoch' | 'shipped_seq'> | undefined,
  epochs: readonly Epoch[],
): number | undefined {
  const at = epochs.findIndex(({ name }) => name === report?.epoch);
  if (report?.shipped_seq == null || at < 0) return undefined;
  return Math.min(report.shipped_seq, ...epochs.slice(at + 1).map(({ fromSeq }) => fromSeq));
}
