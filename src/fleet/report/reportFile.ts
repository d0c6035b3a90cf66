import fs from 'node:fs';
import path from 'node:path';
import { SMALL_FILE_BYTES } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import type { Epoch } from '../../store/layout/epochs.ts';

/** Small JSON files of the runtime directory, in which processes of several users report how far they are. */

const TEXT_CHARS = 900;
/** A process that has not written for this long has ended. */
const SILENT_MS = 15_000;

/**
 * @param env of a command or of the daemon. @param data the path of the data directory.
 * @returns the runtime directory; undefined if there is none.
 */
export function runDirectory(env: NodeJS.ProcessEnv, data: string): string | undefined {
  return env.COURTD_RUN_DIR ?? (data === '/var/lib/courtd' ? '/run/courtd' : undefined);
}

/** Writes aside and renames; long texts are cut. A failure, such as on a full disk, only makes the report older. */
export function writeReport(runDir: string | undefined, name: string, report: object): void {
  if (runDir === undefined) return;
  const file = path.join(runDir, name);
  // More than a small file could not be read back.
  const short = (_: string, value: unknown) =>
    typeof value === 'string' && value.length > TEXT_CHARS ? `${value.slice(0, TEXT_CHARS)}…` : value;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(`${file}.new`, `${JSON.stringify(report, short)}\n`);
    // The daemon and every user read it, whatever the umask.
    fs.chmodSync(`${file}.new`, 0o644);
    fs.renameSync(`${file}.new`, file);
  } catch {
    // The next one tries again.
  }
}

/** @returns the last report; undefined without one. Another user has written it, so it may be anything that `isReport` lets pass. */
export function readReport<Report>(
  runDir: string | undefined,
  name: string,
  isReport: (value: Partial<Report>) => boolean,
): Report | undefined {
  if (runDir === undefined) return undefined;
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  try {
    const fd = fs.openSync(path.join(runDir, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(SMALL_FILE_BYTES);
      const report = membersOf(bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, 0)));
      return isReport(report as Partial<Report>) ? (report as Report) : undefined;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote it still runs, as far as that is known. */
export function isRecent({ at }: { readonly at: string }, nowMs = Date.now()): boolean {
  return Math.abs(nowMs - Date.parse(at)) < SILENT_MS;
}

export function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === 'string';
}

export function isSeqOrNull(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 0);
}

/**
 * @returns the seq up to which another place has this log, by its report; undefined if unknown. A report of an older epoch
 * counts up to the end of that epoch.
 */
export function knownUpTo(
  epoch: string | null | undefined,
  seq: number | null | undefined,
  epochs: readonly Epoch[],
): number | undefined {
  const at = epochs.findIndex(({ name }) => name === epoch);
  if (seq == null || at < 0) return undefined;
  return Math.min(seq, ...epochs.slice(at + 1).map(({ fromSeq }) => fromSeq));
}
