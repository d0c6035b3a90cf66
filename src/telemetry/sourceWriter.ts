import { SOURCES_WRITE_MS } from '../base/limits.ts';
import type { SourceChanges } from '../store/sources/storedSources.ts';
import type { Telemetry } from './telemetry.ts';

/** Keeps over a restart what tells that a source is missing: written once a minute at most, and at the end. */
export class SourceWriter {
  readonly #keep: (isLast: boolean) => void;
  readonly #timer: NodeJS.Timeout;

  /** @param write returns whether the changes are on disk. */
  constructor(telemetry: Telemetry, write: (changes: SourceChanges) => boolean) {
    this.#keep = (isLast) => telemetry.keepSources(write, isLast);
    this.#timer = setInterval(this.#keep, SOURCES_WRITE_MS, false).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#keep(true);
  }
}
