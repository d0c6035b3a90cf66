import type { HistogramFamily, Labels, MetricFamily, Sample } from './family.ts';

/** @returns the metrics as Prometheus text, format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export function render(families: readonly MetricFamily[]): string {
  return families.map(familyText).join('');
}

function familyText(family: MetricFamily): string {
  const { name, type, help } = family;
  const samples =
    type === 'histogram'
      ? histogramLines(family)
      : family.samples.map(({ labels, value }) => line(name, labels, value));
  return [`# HELP ${name} ${escaped(help)}\n`, `# TYPE ${name} ${type}\n`, ...samples].join('');
}

/** Buckets are cumulative there. */
function histogramLines({ name, bounds, counts, sum }: HistogramFamily): string[] {
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, i) => {
    count += counts[i]!;
    return line(`${name}_bucket`, { le: String(le) }, count);
  });
  return [...buckets, line(`${name}_sum`, {}, sum), line(`${name}_count`, {}, count)];
}

function line(name: string, labels: Labels, value: Sample['value']): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`,
  );
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
