import type { Logger } from 'pino';
import { jsonRoute } from '../../control/controlServer.ts';
import { daemonFamilies, type MetricSources } from '../../metrics/daemon.ts';
import { EventLoopDelay } from '../../metrics/eventLoopDelay.ts';
import { METRICS_PATH } from '../../metrics/family.ts';
import { MetricsFile } from '../../metrics/metricsFile.ts';

/**
 * The metrics of a daemon. Call it before requests are served: with a file it loads the Prometheus client, which takes a moment.
 * @returns `route`, which answers `courtd metrics`, and `file`, where one is set; `stop` ends both.
 */
export async function startMetrics(
  file: string | undefined,
  sources: Omit<MetricSources, 'loopDelay'>,
  log: Logger,
) {
  const loopDelay = new EventLoopDelay();
  const look = () => daemonFamilies({ ...sources, loopDelay });
  const writer = file === undefined ? undefined : await writerOf(file, look, log);
  const stop = async () => {
    loopDelay.stop();
    await writer?.stop();
  };
  return { route: jsonRoute(METRICS_PATH, look), file: writer, stop };
}

async function writerOf(file: string, look: () => ReturnType<typeof daemonFamilies>, log: Logger) {
  const { render } = await import('../../metrics/render.ts');
  return new MetricsFile(file, async () => render(await look()), log);
}
