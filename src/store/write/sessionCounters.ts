import type { Database } from 'better-sqlite3';
import { sessionCounter } from '../db/sessionCounter.ts';
import { COUNTER_PAUSE } from '../db/sizes.ts';

/**
 * Keeps the counters of sessions, so that `courtd session list` reads few events. They are not written with each event, which would
 * cost a page: after a crash readers still add what was not counted.
 */
export class SessionCounters {
  readonly #count: () => void;
  #events = 0;
  #countedAt = performance.now();

  constructor(db: Database) {
    this.#count = sessionCounter(db);
  }

  /** Call it inside the transaction that stores these events. */
  added(events: number): void {
    this.#events += events;
    if (this.#events < COUNTER_PAUSE.events || performance.now() - this.#countedAt < COUNTER_PAUSE.ms) return;
    this.#count();
    this.#events = 0;
    this.#countedAt = performance.now();
  }
}
