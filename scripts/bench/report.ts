import { printTable } from '../../src/cli/terminal/output.ts';
import type { Verdict } from './bars.ts';
import { LOADS } from './load.ts';
import type { Measured } from './measure.ts';

const MIB = 1024 ** 2;

/** Prints what was measured of courtd and its peers. */
export function printLoads(measured: readonly Measured[], footprints: ReadonlyMap<Measured, number>): void {
  for (const load of LOADS) {
    const headings = [load.title, 'events/s', 'p50 ms', 'p99 ms', 'bytes written/event'];
    const rows = measured.map((one) => [
      one.contender.title,
      whole(one.median(load, 'eventsPerS')),
      hundredths(one.median(load, 'p50Ms')),
      hundredths(one.median(load, 'p99Ms')),
      whole(one.median(load, 'writtenBytes')),
    ]);
    printBlock(headings, rows);
  }
  const sizes = measured.map((one) => [
    one.contender.title,
    whole(one.peakBytes / MIB),
    whole(footprints.get(one) ?? Number.NaN),
  ]);
  printBlock(['over all loads', 'peak MiB', 'bytes on disk/event'], sizes);
}

/** Prints where courtd stands, and the bars beside it. */
export function printVerdicts(verdicts: readonly Verdict[]): void {
  const rows = verdicts.map(({ what, seen, bar, isMet }) => [what, seen, bar, isMet ? 'met' : 'MISSED']);
  if (rows.length > 0) printBlock(['courtd', 'seen', 'bar', ''], rows);
}

function printBlock(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  printTable(headings, rows);
  process.stdout.write('\n');
}

function whole(value: number): string | number {
  return Number.isNaN(value) ? '-' : Math.round(value);
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
