import { SOURCE_FAULT_MS } from '../base/limits.ts';

/** Something wrong with the events of a source, until an hour has passed without such an event. */
export class Fault {
  #events = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** @param at of the monotonic clock, in milliseconds. */
  add(at: number, events = 1): void {
    this.#events = this.eventsAt(at) + events;
    this.#at = at;
  }

  /** When the last such event came. */
  get at(): number {
    return this.#at;
  }

  /** @returns how many events were wrong; 0 if the last one came more than an hour before `now`. */
  eventsAt(now: number): number {
    return now - this.#at <= SOURCE_FAULT_MS ? this.#events : 0;
  }
}
