import { EOT_WINDOW_MS } from '../base/limits.ts';
import { NS_PER_MS } from '../base/units.ts';
import { eotToNs } from './eot.ts';

/** The order of events. */
export interface Occurrence {
  readonly eot: string;
  /** When it was received, by the clock of its box: milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
}

/** An event that leaves the window; late if an event with a later eot has left before it. */
export interface Left<Event> {
  readonly event: Event;
  readonly isLate: boolean;
}

interface Held<Event> {
  readonly event: Event;
  readonly eotNs: bigint;
  readonly receivedMs: number;
}

/**
 * Puts the events of one box in the order in which they happened, while they arrive.
 *
 * An event is held until EOT_WINDOW_MS have passed since it was received. Then it leaves, and held events with an earlier eot leave
 * before it. An event with an earlier eot than one that has left is late, and leaves at once. An eot later than the receipt of its
 * event counts as the receipt, so a camera whose clock is ahead makes no other one late.
 *
 * Time is that of the box: the receipt of the event that was taken last, and from there as the caller's clock runs. So stored events
 * leave as they would have left when they came.
 */
export class EotWindow<Event extends Occurrence> {
  /** By eot, then by arrival. */
  readonly #held: Held<Event>[] = [];
  /** The time of the latest event that has left. */
  #leftNs: bigint | undefined;
  /** The clock of the box, minus that of the caller. */
  #offsetMs = 0;

  /** @param nowMs of a clock that is never set. @returns the events that leave before this one, or this one if it is late. */
  take(event: Event, nowMs: number): Left<Event>[] {
    const { eot, receivedMs } = event;
    const left = this.due(receivedMs - this.#offsetMs);
    this.#offsetMs = receivedMs - nowMs;
    const [sentNs, receivedNs] = [eotToNs(eot)!, BigInt(receivedMs) * NS_PER_MS];
    const eotNs = sentNs < receivedNs ? sentNs : receivedNs;
    if (this.#leftNs !== undefined && eotNs < this.#leftNs) return [...left, { event, isLate: true }];
    const at = this.#held.findLastIndex((held) => held.eotNs <= eotNs) + 1;
    this.#held.splice(at, 0, { event, eotNs, receivedMs });
    return left;
  }

  /** @param nowMs as for `take`. @returns what leaves. */
  due(nowMs: number): Left<Event>[] {
    const boxMs = nowMs + this.#offsetMs;
    // If the clock of the box was set, nobody knows when the window ends: now.
    return this.#leave(
      this.#held.findLastIndex(({ receivedMs }) => Math.abs(boxMs - receivedMs) >= EOT_WINDOW_MS) + 1,
    );
  }

  /** @returns all that is held, in order. */
  rest(): Left<Event>[] {
    return this.#leave(this.#held.length);
  }

  #leave(count: number): Left<Event>[] {
    const left = this.#held.splice(0, count);
    this.#leftNs = left.at(-1)?.eotNs ?? this.#leftNs;
    return left.map(({ event }) => ({ event, isLate: false }));
  }
}
