import fs from 'node:fs';
import path from 'node:path';
import type { Logger } from 'pino';
import { writeAtomically } from '../base/atomicFile.ts';
import { OperatorError } from '../base/operatorError.ts';
import { every } from '../base/pause.ts';

const EVERY_MS = 15_000;
const NAMES = ['status.json', 'metrics.prom'] as const;

/** The text of each file. */
type Texts = Readonly<Record<(typeof NAMES)[number], string>>;

/**
 * Writes files for other users to the runtime directory every EVERY_MS, each aside and renamed, and removes them when the daemon
 * ends: then nobody takes them for current. A failure is logged once until it is over; events are accepted all the same.
 */
export class RunFiles {
  readonly #files: readonly (readonly [name: (typeof NAMES)[number], file: string])[];
  readonly #make: () => Texts;
  readonly #log: Logger;
  readonly #stopTimer = every(EVERY_MS, () => this.write());
  #isFailing = false;

  constructor(directory: string, make: () => Texts, log: Logger) {
    this.#files = NAMES.map((name) => [name, path.join(directory, name)]);
    this.#make = make;
    this.#log = log;
  }

  /** Never throws. */
  write(): void {
    try {
      const texts = this.#make();
      for (const [name, file] of this.#files) writeAtomically(file, texts[name], true);
      if (this.#isFailing) this.#log.info('the files of the runtime directory are written again');
      this.#isFailing = false;
    } catch (error) {
      if (this.#isFailing) return;
      this.#isFailing = true;
      const reason = error instanceof OperatorError ? error.message : error;
      this.#log.warn(
        { reason },
        'the files of the runtime directory cannot be written: events are accepted all the same',
      );
    }
  }

  stop(): void {
    this.#stopTimer();
    for (const [, file] of this.#files) fs.rmSync(file, { force: true });
  }
}
