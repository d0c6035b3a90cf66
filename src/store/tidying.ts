import type { Database } from 'better-sqlite3';
import { BUSY_RETRY_MS, TIDY_RETRY_MS } from '../protocol/limits.ts';
import type { Appender } from './append.ts';
import { Checkpoints } from './checkpoint.ts';
import { failureKind } from './failure.ts';

/** What cannot wait of what went wrong. */
export interface TidyingEvents {
  fatal(error: unknown): void;
  unexpected(error: unknown): void;
}

/** What the writer does between commits: checkpoints, and what is due of the appender. All of it can always wait. */
export class Tidying {
  readonly checkpoints: Checkpoints;
  readonly #appender: Appender;
  readonly #on: TidyingEvents;
  #notBefore = 0;

  constructor(db: Database, appender: Appender, on: TidyingEvents) {
    this.checkpoints = new Checkpoints(db, (error) => this.#failed(error));
    this.#appender = appender;
    this.#on = on;
  }

  get isDue(): boolean {
    return this.checkpoints.isDue || this.#isAppenderDue();
  }

  step(): void {
    try {
      if (this.checkpoints.isDue) this.checkpoints.step();
      if (this.#isAppenderDue()) this.#appender.tidyStep();
    } catch (error) {
      const isBusy = failureKind(error) === 'busy';
      this.#notBefore = performance.now() + (isBusy ? BUSY_RETRY_MS : TIDY_RETRY_MS);
      this.#failed(error);
    }
  }

  #isAppenderDue(): boolean {
    return this.#appender.wantsTidying && performance.now() >= this.#notBefore;
  }

  /** On a full disk, or a locked file, nothing is lost: it is tried again. */
  #failed(error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'fatal') this.#on.fatal(error);
    if (kind === 'unexpected') this.#on.unexpected(error);
  }
}
