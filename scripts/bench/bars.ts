import { BATCHES, type Load, SINGLES } from './load.ts';
import { type Measured, median, type Sample } from './measure.ts';

/** The bars: what courtd must reach compared with its peers. */

/** courtd's value divided by a peer's. */
interface RatioBar {
  readonly load: Load;
  readonly against: string;
  readonly value: keyof Sample;
  readonly least?: number;
  readonly most?: number;
}

const RATIOS: readonly RatioBar[] = [
  { load: SINGLES, against: 'fastify', value: 'eventsPerS', least: 5 },
  { load: BATCHES, against: 'fastify', value: 'eventsPerS', least: 2 },
  { load: SINGLES, against: 'influxdb', value: 'eventsPerS', least: 1.1 },
  { load: SINGLES, against: 'influxdb', value: 'p99Ms', most: 1 },
  { load: BATCHES, against: 'influxdb', value: 'eventsPerS', least: 0.45 },
];

/** A bar, and courtd's value beside it. */
export interface Verdict {
  readonly what: string;
  readonly seen: string;
  readonly bar: string;
  readonly isMet: boolean;
}

/** @returns a verdict for every bar whose contenders took part. */
export function judge(measured: readonly Measured[]): Verdict[] {
  const courtd = measured.find(({ contender }) => contender.name === 'courtd');
  if (courtd === undefined) return [];
  const verdicts: Verdict[] = [];
  for (const bar of RATIOS) {
    const other = measured.find(({ contender }) => contender.name === bar.against);
    if (other !== undefined) verdicts.push(judgeRatio(bar, courtd, other));
  }
  return verdicts;
}

function judgeRatio({ load, value, least, most }: RatioBar, courtd: Measured, other: Measured): Verdict {
  const others = other.samples(load);
  // Round by round, because the speed of a machine changes over time.
  const ratio = median(courtd.samples(load).map((sample, round) => sample[value] / others[round]![value]));
  const unit = value === 'p99Ms' ? 'p99' : 'events/s';
  return {
    what: `${load.title}: ${unit} against ${other.contender.title}`,
    seen: ratio.toFixed(2),
    bar: least === undefined ? `<= ${most}` : `>= ${least}`,
    isMet: least === undefined ? ratio <= most! : ratio >= least,
  };
}

export function atMost(what: string, seen: number, most: number, unit = ''): Verdict {
  return { what, seen: formatted(seen, unit), bar: `<= ${formatted(most, unit)}`, isMet: seen <= most };
}

function formatted(value: number, unit: string): string {
  const digits = value < 10 ? 1 : 0;
  return `${value.toLocaleString('en', { maximumFractionDigits: digits })} ${unit}`.trimEnd();
}
