import { SOURCES_WRITE_MS } from '../base/limits.ts';
import type { SourceChanges } from '../store/sources/storedSources.ts';
import type { Telemetry } from './telemetry.ts';

/** Writes what is to outlive the daemon of its sources, once a minute at most, and at the end. */
export class SourceWriter {
  readonly #keep: () => void;
  readonly #timer: NodeJS.Timeout;

  /** @param write returns whether the changes are on disk. */
  constructor(telemetry: Telemetry, write: (changes: SourceChanges) => boolean) {
    this.#keep = () => telemetry.keepSources(write);
    this.#timer = setInterval(this.#keep, SOURCES_WRITE_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#keep();
  }
}
