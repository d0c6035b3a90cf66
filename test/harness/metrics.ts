/** Prometheus text, read again: plainly, for what courtd prints. */

export interface Metrics {
  /** By its name and labels as they are printed. */
  readonly series: ReadonlyMap<string, number>;
  /** The type of each metric. */
  readonly types: ReadonlyMap<string, string>;
  /** The labels of each metric that has a sample. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
}

/** @throws {Error} for a line that is none, or a sample that is not below the type of its metric. */
export function parseMetrics(text: string): Metrics {
  const series = new Map<string, number>();
  const types = new Map<string, string>();
  const labels = new Map<string, Set<string>>();
  let current = '';
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue;
    const [, metric, type] = /^# TYPE (\w+) (counter|gauge|summary)$/.exec(line) ?? [];
    if (metric !== undefined) {
      current = metric;
      types.set(metric, type!);
      continue;
    }
    const [, sample, name, own = '', value] =
      /^((\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\})?) (\S+)$/.exec(line) ?? [];
    if (sample === undefined || ![current, `${current}_sum`, `${current}_count`].includes(name!)) {
      throw new Error(`What is this of ${current}? ${line}`);
    }
    if (series.has(sample)) throw new Error(`Twice: ${sample}`);
    series.set(sample, Number(value));
    const of = labels.get(current) ?? new Set();
    for (const [, label] of own.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) of.add(label!);
    labels.set(current, of);
  }
  return { series, types, labels };
}
