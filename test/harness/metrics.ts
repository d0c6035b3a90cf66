/** Prometheus text, read again: plainly, for what courtd prints. Whether it is such text: metrics/promtool.proof.ts. */

/** @returns each sample, by its name and labels as they are printed; and the type of each metric. */
export function parseMetrics(text: string) {
  const lines = (form: RegExp) => [...text.matchAll(form)].map(([, name, value]) => [name!, value!] as const);
  const samples = lines(/^(\w+(?:\{.*\})?) (\S+)$/gm);
  const types = lines(/^# TYPE (\w+) (\w+)$/gm);
  return { series: new Map(samples.map(([name, value]) => [name, Number(value)])), types: new Map(types) };
}
