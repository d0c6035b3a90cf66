import type { Logger } from 'pino';
import { jsonRoute } from '../../control/controlServer.ts';
import { daemonFamilies, type MetricSources } from '../../metrics/daemon.ts';
import { EventLoopDelay } from '../../metrics/eventLoopDelay.ts';
import { METRICS_PATH } from '../../metrics/family.ts';
import { MetricsFile } from '../../metrics/metricsFile.ts';
import { render } from '../../metrics/render.ts';

/**
 * The metrics of a daemon.
 * @returns `route`, which answers `courtd metrics`, and `file`, where one is set; `stop` ends both.
 */
export function startMetrics(
  file: string | undefined,
  sources: Omit<MetricSources, 'loopDelay'>,
  log: Logger,
) {
  const loopDelay = new EventLoopDelay();
  const look = () => daemonFamilies({ ...sources, loopDelay });
  const writer =
    file === undefined ? undefined : new MetricsFile(file, async () => render(await look()), log);
  const stop = async () => {
    loopDelay.stop();
    await writer?.stop();
  };
  return { route: jsonRoute(METRICS_PATH, look), file: writer, stop };
}
