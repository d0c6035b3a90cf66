import { printTable } from '../../src/cli/terminal/output.ts';
import type { Verdict } from './bars.ts';
import { LOADS } from './load.ts';
import type { Measured } from './measure.ts';

const MIB = 1024 ** 2;

export interface Table {
  readonly headings: readonly string[];
  /** Each as long as the headings. */
  readonly rows: readonly (readonly (string | number)[])[];
}

/** @returns the measurements of courtd and its peers: a table for each load, and one for all of them together. */
export function loadTables(
  measured: readonly Measured[],
  footprints: ReadonlyMap<Measured, number>,
): Table[] {
  const byLoad = LOADS.map((load) => ({
    headings: [load.title, 'events/s', 'p50 ms', 'p99 ms', 'bytes written/event'],
    rows: measured.map((one) => [
      one.contender.title,
      whole(one.median(load, 'eventsPerS')),
      hundredths(one.median(load, 'p50Ms')),
      hundredths(one.median(load, 'p99Ms')),
      whole(one.median(load, 'writtenBytes')),
    ]),
  }));
  const sizes = measured.map((one) => [
    one.contender.title,
    whole(one.peakBytes / MIB),
    whole(footprints.get(one) ?? Number.NaN),
  ]);
  return [...byLoad, { headings: ['over all loads', 'peak MiB', 'bytes on disk/event'], rows: sizes }];
}

/** @returns courtd's values beside their bars. */
export function verdictTable(verdicts: readonly Verdict[]): Table {
  const rows = verdicts.map(({ what, seen, bar, isMet }) => [what, seen, bar, isMet ? 'met' : 'MISSED']);
  return { headings: ['courtd', 'seen', 'bar', ''], rows };
}

export function show({ headings, rows }: Table): void {
  printTable(headings, rows);
  process.stdout.write('\n');
}

function whole(value: number): string | number {
  return Number.isNaN(value) ? '-' : Math.round(value);
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
