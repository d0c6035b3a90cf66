import type { Histogram } from '../base/histogram.ts';

/**
 * Metrics as plain values, which the daemon can send as JSON; render.ts turns them into Prometheus text. Names follow the conventions
 * (https://prometheus.io/docs/practices/naming/), and systemd/METRICS.md lists them all. No label holds a session, an event id or a
 * token: each value of a label is a time series of its own, for ever.
 */

/** Where the daemon answers them over control.sock, as JSON. */
export const METRICS_PATH = '/v1/metrics';

interface Described {
  readonly name: string;
  /** One line, without the name. */
  readonly help: string;
}

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface ValueFamily extends Described {
  readonly type: 'counter' | 'gauge';
  /** Empty where nothing is known. */
  readonly samples: readonly Sample[];
}

export interface HistogramFamily extends Described {
  readonly type: 'histogram';
  /** The upper bounds of the buckets; one more bucket lies above the last. */
  readonly bounds: readonly number[];
  /** One for each bucket, not cumulative. */
  readonly counts: readonly number[];
  readonly sum: number;
}

export type MetricFamily = ValueFamily | HistogramFamily;

/** @param value null where it is unknown: then there is no sample, rather than a 0. */
export function gauge(name: string, help: string, value: number | null): ValueFamily {
  return { type: 'gauge', name, help, samples: value === null ? [] : [{ labels: {}, value }] };
}

export function gauges(name: string, help: string, samples: readonly Sample[]): ValueFamily {
  return { type: 'gauge', name, help, samples };
}

export function counter(name: string, help: string, value: number): ValueFamily {
  return counters(name, help, [{ labels: {}, value }]);
}

export function counters(name: string, help: string, samples: readonly Sample[]): ValueFamily {
  return { type: 'counter', name, help, samples };
}

export function histogram(name: string, help: string, { bounds, counts, sum }: Histogram): HistogramFamily {
  return { type: 'histogram', name, help, bounds, counts: [...counts], sum };
}
