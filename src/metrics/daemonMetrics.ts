import type { Logger } from 'pino';
import { daemonFamilies, type MetricSources } from './daemonFamilies.ts';
import { EventLoopDelay } from './eventLoopDelay.ts';
import type { MetricFamily } from './family.ts';
import { MetricsFile } from './metricsFile.ts';
import { render } from './render.ts';

/** The metrics of a daemon, and their file where one is set. */
export class DaemonMetrics {
  readonly #sources: MetricSources;
  readonly #file: MetricsFile | undefined;

  constructor(file: string | undefined, sources: Omit<MetricSources, 'loopDelay'>, log: Logger) {
    this.#sources = { ...sources, loopDelay: new EventLoopDelay() };
    this.#file = file === undefined ? undefined : new MetricsFile(file, () => this.#text(), log);
  }

  look(): Promise<MetricFamily[]> {
    return daemonFamilies(this.#sources);
  }

  /** Writes the file now, where there is one. Never throws. */
  async write(): Promise<void> {
    await this.#file?.write();
  }

  async stop(): Promise<void> {
    this.#sources.loopDelay.stop();
    await this.#file?.stop();
  }

  async #text(): Promise<string> {
    return render(await this.look());
  }
}
