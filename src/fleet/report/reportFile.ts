import fs from 'node:fs';
import path from 'node:path';
import { writeAtomically } from '../../base/atomicFile.ts';
import { membersOf } from '../../base/json.ts';
import { readSmall } from '../../base/privateFile.ts';
import type { Lag } from '../../store/read/shipLag.ts';

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

/**
 * Such a file, which is written every few seconds: `at` says when.
 * @param name in the runtime directory.
 */
export function reportFile<Report extends { readonly at: string }>(name: string) {
  return {
    /** Writes it, with `at`; long texts are cut. A failure, such as on a full disk, only makes the report older. */
    write(runDir: string | undefined, report: Omit<Report, 'at'>): void {
      if (runDir === undefined) return;
      const file = path.join(runDir, name);
      // More than a small file could not be read back.
      const short = (_: string, value: unknown) =>
        typeof value === 'string' && value.length > TEXT_CHARS ? `${value.slice(0, TEXT_CHARS)}…` : value;
      try {
        fs.mkdirSync(path.dirname(file), { recursive: true });
        writeAtomically(
          file,
          `${JSON.stringify({ at: new Date().toISOString(), ...report }, short)}\n`,
          true,
        );
      } catch {
        // The next one tries again.
      }
    },

    /** @returns the last report; undefined without one. */
    read(runDir: string | undefined): Report | undefined {
      if (runDir === undefined) return undefined;
      try {
        const report = membersOf(readSmall(path.join(runDir, name))) as unknown as Report;
        return typeof report.at === 'string' ? report : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** Whether the process that wrote it still runs, as far as that is known. */
export function isRecent({ at }: { readonly at: string }, nowMs = Date.now()): boolean {
  return Math.abs(nowMs - Date.parse(at)) < SILENT_MS;
}

/** @returns how far another place is behind this log, as `status` has it. */
export function behindBy({ events, oldestMs }: Lag, nowMs = Date.now()) {
  return { behind_events: events, behind_s: Math.max(0, Math.round((nowMs - (oldestMs ?? nowMs)) / 1_000)) };
}
