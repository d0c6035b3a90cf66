import { EOT_WINDOW_MS } from '../../base/limits.ts';
import { NS_PER_MS } from '../../base/units.ts';
import { eotToNs } from '../../protocol/eot.ts';

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

/**
 * Puts the events of one box in the order in which they happened, while they arrive.
 *
 * An event is held until EOT_WINDOW_MS have passed since it was received. Then it leaves, and held events with an earlier eot leave
 * before it. An event with an earlier eot than one that has left is late, and leaves at once. An eot later than the receipt of its
 * event counts as the receipt, so a camera whose clock is ahead makes no other one late.
 */
export class EotWindow<Event extends Occurrence> {
  /** By time, then by arrival. */
  readonly #held: { readonly event: Event; readonly ns: bigint }[] = [];
  /** The time of the latest event that has left. */
  #leftNs: bigint | undefined;

  /** @returns the events that leave before this one, as they left when it came, or this one if it is late. */
  take(event: Event): Left<Event>[] {
    const { eot, receivedMs } = event;
    const left = this.due(receivedMs);
    const [sentNs, receivedNs] = [eotToNs(eot)!, BigInt(receivedMs) * NS_PER_MS];
    const ns = sentNs < receivedNs ? sentNs : receivedNs;
    if (this.#leftNs !== undefined && ns < this.#leftNs) return [...left, { event, isLate: true }];
    const at = this.#held.findLastIndex((held) => held.ns <= ns) + 1;
    this.#held.splice(at, 0, { event, ns });
    return left;
  }

  /** @param nowMs by the clock of the box; infinity: all leave. @returns what leaves. */
  due(nowMs: number): Left<Event>[] {
    // If the clock of the box was set, nobody knows when the window ends: now.
    const isDue = ({ event }: { event: Event }) => Math.abs(nowMs - event.receivedMs) >= EOT_WINDOW_MS;
    const left = this.#held.splice(0, this.#held.findLastIndex(isDue) + 1);
    this.#leftNs = left.at(-1)?.ns ?? this.#leftNs;
    return left.map(({ event }) => ({ event, isLate: false }));
  }
}
