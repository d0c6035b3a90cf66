import type { CameraReport } from './camera.ts';
import type { Tally } from './wire.ts';

/** What must hold, and what was found. */
export interface Bar {
  readonly text: string;
  readonly isMet: boolean;
}

export interface Result {
  readonly title: string;
  readonly camera?: CameraReport;
  readonly bars: readonly Bar[];
  /** Answers to the attackers. */
  readonly answers: Tally;
}

const HEADER = ['scenario', 'p50 ms', 'p99 ms', 'max ms', 'camera', 'bars', 'the others'];

export function printTable(results: readonly Result[]): void {
  const rows = results.map(({ title, camera, bars, answers }) => [
    title,
    ...(camera === undefined ? ['', '', '', ''] : [...times(camera), tallyText(camera.answers)]),
    bars.map(({ text, isMet }) => (isMet ? text : `MISSED ${text}`)).join('; '),
    tallyText(answers),
  ]);
  for (const row of [HEADER, HEADER.map(() => '---'), ...rows]) {
    process.stdout.write(`| ${row.join(' | ')} |\n`);
  }
}

function times({ p50Ms, p99Ms, maxMs }: CameraReport): string[] {
  return [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1));
}

export function tallyText(tally: Tally): string {
  return Object.entries(tally)
    .map(([what, n]) => `${what}: ${n}`)
    .join(', ');
}
