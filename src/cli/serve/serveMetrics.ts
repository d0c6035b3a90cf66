import type { Logger } from 'pino';
import { cachedRoute } from '../../control/cachedRoute.ts';
import type { ControlRoute } from '../../control/controlServer.ts';
import { daemonFamilies, type MetricSources } from '../../metrics/daemon.ts';
import { EventLoopDelay } from '../../metrics/eventLoopDelay.ts';
import { MetricsFile } from '../../metrics/metricsFile.ts';

/** The metrics of a daemon: what answers `courtd metrics`, and the file where one is set. */
export class ServeMetrics {
  readonly route: ControlRoute;
  readonly #loopDelay: EventLoopDelay;
  readonly #file: MetricsFile | undefined;

  private constructor(route: ControlRoute, loopDelay: EventLoopDelay, file: MetricsFile | undefined) {
    this.route = route;
    this.#loopDelay = loopDelay;
    this.#file = file;
  }

  /** Call it before requests are served: with a file it loads the Prometheus client, which takes a moment. */
  static async start(
    file: string | undefined,
    sources: Omit<MetricSources, 'loopDelay'>,
    log: Logger,
  ): Promise<ServeMetrics> {
    const loopDelay = new EventLoopDelay();
    const look = () => daemonFamilies({ ...sources, loopDelay });
    const route = cachedRoute('/v1/metrics', look);
    if (file === undefined) return new ServeMetrics(route, loopDelay, undefined);
    const { render } = await import('../../metrics/render.ts');
    const written = new MetricsFile(file, async () => render(await look()), log);
    return new ServeMetrics(route, loopDelay, written);
  }

  async listening(): Promise<void> {
    await this.#file?.write();
  }

  async stop(): Promise<void> {
    this.#loopDelay.stop();
    await this.#file?.stop();
  }
}
