import type { Sample } from './loads.ts';

const COLUMNS: readonly (readonly [heading: string, value: keyof Sample, digits: number])[] = [
  ['events/s', 'eventsPerS', 0],
  ['p50 ms', 'p50Ms', 2],
  ['p99 ms', 'p99Ms', 2],
  ['bytes/event', 'writtenBytes', 0],
  ['CPU us/event', 'cpuUs', 1],
];

/** @param samples by contender and round, the first contender being courtd. @returns a table in Markdown. */
export function tableOf(
  load: string,
  titles: readonly string[],
  samples: readonly (readonly Sample[])[],
): string {
  const rows = titles.map((title, i) => [
    title,
    ...COLUMNS.map(([, value, digits]) =>
      range(
        samples[i]!.map((sample) => sample[value]),
        digits,
      ),
    ),
    i === 0
      ? ''
      : range(
          samples[0]!.map((own, round) => own.eventsPerS / samples[i]![round]!.eventsPerS),
          2,
        ),
  ]);
  const headings = [load, ...COLUMNS.map(([heading]) => heading), 'courtd is'];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}

/** @returns the median, and the lowest and highest value if there are several. */
function range(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[0]!, sorted.at(-1)!];
  const median = (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.floor(sorted.length / 2)]!) / 2;
  const text = (value: number) => value.toFixed(digits);
  return low === high ? text(median) : `${text(median)} (${text(low)} to ${text(high)})`;
}
