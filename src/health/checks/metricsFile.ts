import fs from 'node:fs';
import path from 'node:path';
import { METRICS_FILE_MS } from '../../base/limits.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { type Finding, fail, ok, warn } from '../finding.ts';
import type { Check } from './check.ts';

/** How many writes may be missed: a disk stalls, a box is busy. */
const MISSED = 4;
const RESTART = 'then "sudo systemctl restart courtd"';
const SEE_LOG = 'The log ("journalctl -u courtd") says why it is not written.';

/** Whether the metrics file, where one is set, is written and can be read by others. */
export const metrics: Check = {
  name: 'metrics',
  look: async ({ settings, database }) => {
    const file = settings.COURTD_METRICS_FILE;
    if (file === undefined) return ok('No metrics are written to a file (COURTD_METRICS_FILE is not set).');
    const folder = path.dirname(file);
    const isDirectory = stat(folder)?.isDirectory() === true;
    const { isServed } = await database();
    // A directory below /run exists only while the unit runs.
    if (!isDirectory && isServed) {
      return fail(
        `${folder}, for COURTD_METRICS_FILE, is not a directory.`,
        `Create it, or set COURTD_METRICS_FILE=/run/courtd/courtd.prom, ${RESTART}.`,
      );
    }
    if (!isServed) return ok(`The daemon is not running, so ${file} is not written.`);
    return aboutFile(file, Date.now());
  },
};

function aboutFile(file: string, nowMs: number): Finding {
  const seen = stat(file);
  if (seen === undefined) {
    return fail(
      `${file} is not there: the daemon cannot write it, or was started before COURTD_METRICS_FILE was set.`,
      `The user courtd must be able to write in ${path.dirname(file)}; ${RESTART}.`,
    );
  }
  const ageS = Math.round((nowMs - seen.mtimeMs) / 1_000);
  if (ageS > (MISSED * METRICS_FILE_MS) / 1_000) {
    return fail(`${file} was last written ${ageS} s ago.`, SEE_LOG);
  }
  if ((seen.mode & 0o004) === 0) {
    return warn(`Others cannot read ${file}.`, 'The daemon writes it with mode 0644: restart the daemon.');
  }
  return ok(`The metrics are written to ${file}, ${Math.max(0, ageS)} s ago.`);
}

function stat(file: string): fs.Stats | undefined {
  return asCaller(() => fs.statSync(file, { throwIfNoEntry: false }));
}
