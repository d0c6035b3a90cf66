import type { Contender } from '../contender.ts';
import { BATCHES, SINGLES } from '../load.ts';
import { median, type Sample } from '../measure.ts';
import type { Table } from '../report.ts';
import type { PowerCuts } from './powerCuts.ts';

/** What the section has measured, as tables. */

const MIB = 1024 ** 2;
const MILLION = 1e6;

/** A load, and every contender's samples, one for each round; courtd's first. */
export interface Seen {
  readonly title: string;
  readonly samples: readonly (readonly [Contender, readonly Sample[]])[];
}

/** What a contender's answer is worth. */
export interface Worth {
  readonly contender: Contender;
  readonly syncs: number | undefined;
  readonly found: PowerCuts | undefined;
  readonly memoryBytes: number;
  readonly held: number | undefined;
}

export function loadTable({ title, samples }: Seen): Table {
  const first = samples[0]![1];
  return {
    headings: [
      title,
      'events/s',
      'courtd = 1',
      'lowest to highest',
      'p50 ms',
      'p99 ms',
      'CPU us/event',
      'bytes written/event',
    ],
    rows: samples.map(([contender, own]) => {
      const ratios = own.map(({ eventsPerS }, i) => eventsPerS / first[i]!.eventsPerS);
      return [
        contender.title,
        shown(own, 'eventsPerS'),
        median(ratios).toFixed(2),
        `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
        shown(own, 'p50Ms', 2),
        shown(own, 'p99Ms', 2),
        shown(own, 'cpuUs'),
        shown(own, 'writtenBytes'),
      ];
    }),
  };
}

/** @param seen for the bytes and the CPU time of the loads of single events and of batches. */
export function worthTable(cuts: number, rows: readonly Worth[], seen: readonly Seen[]): Table {
  const at = (contender: Contender, load: string, name: keyof Sample) =>
    shown(samplesOf(seen, load, contender), name);
  return {
    headings: [
      'what an answer is worth',
      'syncs between request and answer',
      `acknowledged events lost, ${cuts} power cuts`,
      ...[SINGLES, BATCHES].map(({ title }) => `bytes written/event, ${title}`),
      ...[SINGLES, BATCHES].map(({ title }) => `CPU us/event, ${title}`),
      'memory MiB',
      'at million events',
    ],
    rows: rows.map(({ contender, syncs, found, memoryBytes, held }) => [
      contender.title,
      syncs?.toFixed(2) ?? '-',
      found === undefined ? '-' : lostText(found),
      at(contender, SINGLES.title, 'writtenBytes'),
      at(contender, BATCHES.title, 'writtenBytes'),
      at(contender, SINGLES.title, 'cpuUs'),
      at(contender, BATCHES.title, 'cpuUs'),
      Math.round(memoryBytes / MIB),
      held === undefined ? '-' : (held / MILLION).toFixed(1),
    ]),
  };
}

function lostText({ lost, repaired, dead }: PowerCuts): string {
  return [
    String(lost),
    ...(repaired > 0 ? [`started only after a repair by hand: ${repaired}`] : []),
    ...(dead > 0 ? [`did not start again: ${dead}`] : []),
  ].join('; ');
}

/** Who wins, and where. */
export function summary(seen: readonly Seen[]): Table {
  return {
    headings: ['who wins', 'most events/s', 'courtd beside it', 'lowest p99', 'courtd beside it'],
    rows: seen.map(({ title, samples }) => {
      const by = (name: keyof Sample, sign: 1 | -1) => {
        const values = samples.map(([contender, own]) => ({
          contender,
          value: median(own.map((one) => one[name])),
        }));
        const best = values.reduce((a, b) => (sign * b.value > sign * a.value ? b : a));
        const ratio = values[0]!.value / best.value;
        return [best.contender.title, ratio.toFixed(2)];
      };
      return [title, ...by('eventsPerS', 1), ...by('p99Ms', -1)];
    }),
  };
}

/** How each is built, and what it does not do. */
export function builtTable(contenders: readonly Contender[]): Table {
  return {
    headings: ['how it is built', 'what it checks, and what it does not'],
    rows: contenders.map(({ title, built = '', checks = '' }) => [`${title}: ${built}`, checks]),
  };
}

function samplesOf(seen: readonly Seen[], title: string, contender: Contender): readonly Sample[] {
  const load = seen.find((one) => one.title === title);
  return load?.samples.find(([one]) => one === contender)?.[1] ?? [];
}

/** @returns the median; `-` where there is none. */
function shown(samples: readonly Sample[], name: keyof Sample, digits = 0): string | number {
  const value = median(samples.map((sample) => sample[name]));
  return Number.isNaN(value) ? '-' : Number(value.toFixed(digits));
}
