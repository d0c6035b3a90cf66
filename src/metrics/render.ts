import { Counter, Gauge, type Metric, Registry } from '@prometheus-io/client';
import type { HistogramFamily, MetricFamily } from './family.ts';

/**
 * @returns the metrics as Prometheus text, format 0.0.4, by the Prometheus project's own client. Importing this file loads the
 * client, which takes 50 ms and 18 MiB: the daemon does so before it serves, and only where it writes the metrics to a file.
 */
export async function render(families: readonly MetricFamily[]): Promise<string> {
  const registry = new Registry();
  for (const family of families) register(family, registry);
  // The format allows an empty line between two families, but nobody needs it.
  return (await registry.metrics()).replaceAll('\n\n', '\n');
}

function register(family: MetricFamily, registry: Registry): void {
  if (family.type === 'histogram') return registry.registerMetric(counted(family));
  const { name, help, samples } = family;
  const labelNames = Object.keys(samples[0]?.labels ?? {});
  const config = { name, help, labelNames, registers: [registry as never] };
  if (family.type === 'counter') {
    const counter = new Counter<string>(config);
    for (const { labels, value } of samples) counter.inc(labels, value);
    return;
  }
  const gauge = new Gauge<string>(config);
  // A gauge without labels would start at 0.
  if (samples.length === 0) gauge.remove();
  for (const { labels, value } of samples) gauge.set(labels, value);
}

/** The client's own histogram takes single observations; these have been counted already. A registry needs nothing else of a metric. */
function counted({ name, help, bounds, counts, sum }: HistogramFamily): Metric {
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, i) => {
    count += counts[i]!;
    return { metricName: `${name}_bucket`, labels: { le }, value: count };
  });
  const values = [
    ...buckets,
    { metricName: `${name}_sum`, labels: {}, value: sum },
    { metricName: `${name}_count`, labels: {}, value: count },
  ];
  const metric = {
    name,
    help,
    type: 'histogram',
    get: async () => ({ name, help, type: 'histogram', values }),
  };
  return metric as unknown as Metric;
}
