import { eotToNs } from './eot.ts';

/** What an event that is held takes beside its texts: measured with 100,000 of them. */
export const EOT_HELD_EVENT_BYTES = 600;

/** What an event is put in order by. */
export interface Occurrence {
  readonly eot: string;
  /** When it was received, by the clock of its box: milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
  /** About how much memory it takes. */
  readonly bytes: number;
}

/** Memory that windows share. */
export interface HeldRoom {
  /** In bytes. */
  free: number;
  /** It is exceeded: the earliest event leaves, unless this throws. */
  readonly exceeded: () => void;
}

interface Held<Event> {
  readonly event: Event;
  readonly eotNs: bigint;
  readonly receivedMs: number;
  readonly bytes: number;
  /** How many came before it. */
  readonly place: number;
}

/**
 * Puts the events of one box in the order in which they happened, while they arrive.
 *
 * An event is held until the window has passed since it was received. Then it leaves, and what is held with an earlier eot leaves
 * before it. An event with an earlier eot than one that has left is late: it leaves at once. An eot later than the receipt of its
 * event counts as the receipt, so a camera whose clock is ahead makes no other one late. Where every event is received within the
 * window after its eot, none is late.
 *
 * Time is that of the box: it stands at the receipt of the event that was taken last, and goes on from there as the caller's clock
 * does. So what has been stored for long leaves as it would have left then, and no clock that is set in between matters.
 */
export class EotWindow<Event> {
  readonly #windowMs: number;
  readonly #toLine: (event: Event, isLate: boolean) => string;
  readonly #room: HeldRoom;
  /** In order of arrival. */
  readonly #held = new Set<Held<Event>>();
  /** The same as a binary heap, with the earliest first. */
  readonly #heap: Held<Event>[] = [];
  /** Of the latest event that has left. */
  #leftNs: bigint | undefined;
  /** The clock of the box, minus that of the caller. */
  #offsetMs = 0;
  #taken = 0;

  /** @param windowMs Infinity: nothing leaves before `rest`. */
  constructor(windowMs: number, toLine: (event: Event, isLate: boolean) => string, room: HeldRoom) {
    this.#windowMs = windowMs;
    this.#toLine = toLine;
    this.#room = room;
  }

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  /** @param nowMs of a clock that is never set. @returns the lines of what leaves before it, or instead of it. */
  take(event: Event, { eot, receivedMs, bytes }: Occurrence, nowMs: number): string[] {
    const lines = this.#leaveAt(receivedMs);
    this.#offsetMs = receivedMs - nowMs;
    const [receivedNs, sentNs] = [BigInt(receivedMs) * 1_000_000n, eotToNs(eot)!];
    const eotNs = sentNs < receivedNs ? sentNs : receivedNs;
    if (this.#leftNs !== undefined && eotNs < this.#leftNs) return [...lines, this.#toLine(event, true)];
    this.#hold({ event, eotNs, receivedMs, bytes: bytes + EOT_HELD_EVENT_BYTES, place: this.#taken++ });
    while (this.#room.free < 0 && !this.isEmpty) {
      this.#room.exceeded();
      lines.push(this.#leave());
    }
    return lines;
  }

  /** @param nowMs as for `take`. @returns the lines of what leaves. */
  due(nowMs: number): string[] {
    return this.#leaveAt(nowMs + this.#offsetMs);
  }

  /** @yields the lines of all that is held, in order. */
  *rest(): Generator<string> {
    while (!this.isEmpty) yield this.#leave();
  }

  #leaveAt(boxMs: number): string[] {
    const lines: string[] = [];
    for (const held of this.#held) {
      // Where the clock of the box was set back by more than the window, nobody knows when it ends: now.
      if (Math.abs(boxMs - held.receivedMs) <= this.#windowMs) break;
      while (this.#held.has(held)) lines.push(this.#leave());
    }
    return lines;
  }

  #hold(held: Held<Event>): void {
    this.#held.add(held);
    this.#room.free -= held.bytes;
    let at = this.#heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(this.#heap[parent]!, held)) break;
      this.#heap[at] = this.#heap[parent]!;
      at = parent;
    }
    this.#heap[at] = held;
  }

  #leave(): string {
    const earliest = this.#heap[0]!;
    const last = this.#heap.pop()!;
    if (last !== earliest) this.#sink(last);
    this.#held.delete(earliest);
    this.#room.free += earliest.bytes;
    this.#leftNs = earliest.eotNs;
    return this.#toLine(earliest.event, false);
  }

  /** Puts one where it belongs, from the top of the heap. */
  #sink(held: Held<Event>): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (child >= heap.length || isBefore(held, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = held;
  }
}

/** By eot, then by arrival. */
function isBefore(a: Held<unknown>, b: Held<unknown>): boolean {
  return a.eotNs === b.eotNs ? a.place < b.place : a.eotNs < b.eotNs;
}
