import fs from 'node:fs';
import path from 'node:path';
import type { Logger } from 'pino';
import { removeLeftovers, writeAtomically } from '../base/atomicFile.ts';
import { OperatorError } from '../base/operatorError.ts';
import { every } from '../base/pause.ts';

const EVERY_MS = 15_000;

/** The text of each file, by its name. */
type Texts = Readonly<Record<string, string>>;

/**
 * Writes files for other users to the runtime directory every EVERY_MS, each aside and renamed, and removes them when the daemon
 * ends: then nobody takes them for current. A failure is logged once until it is over; events are accepted all the same.
 */
export class RunFiles {
  readonly #directory: string;
  readonly #names: readonly string[];
  readonly #make: () => Promise<Texts>;
  readonly #log: Logger;
  readonly #stopTimer = every(EVERY_MS, () => void this.write());
  #writing: Promise<void> | undefined;
  #isFailing = false;
  #isStopped = false;

  constructor(directory: string, names: readonly string[], make: () => Promise<Texts>, log: Logger) {
    this.#directory = directory;
    this.#names = names;
    this.#make = make;
    this.#log = log;
  }

  /** Writes now, or waits for a write that is in progress. Never throws. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer();
    await this.#writing;
    for (const name of this.#names) fs.rmSync(path.join(this.#directory, name), { force: true });
  }

  async #write(): Promise<void> {
    try {
      const texts = await this.#make();
      if (this.#isStopped) return;
      for (const name of this.#names) writeAtomically(path.join(this.#directory, name), texts[name]!, true);
      if (this.#isFailing) this.#log.info('the files of the runtime directory are written again');
      else removeLeftovers(this.#directory, (name) => this.#names.includes(name));
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
}
