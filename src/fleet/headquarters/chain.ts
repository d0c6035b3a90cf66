import { readData } from '../log/chunk.ts';
import type { ChunkHead } from '../nats/fleetLog.ts';

/** Where the log of a box is not whole. */
export interface Break {
  readonly box: string;
  readonly epoch: string;
  /** Of the message, in the stream. */
  readonly at: number;
  /** What is wrong, in a sentence. */
  readonly what: string;
  /** The events that are missing before it, as of chunks that were there and are not any more; absent: it is broken. */
  readonly missing?: { readonly from: number; readonly to: number };
}

/** Up to where a log is, and the message that says so. */
interface End {
  readonly last: number;
  readonly at: number;
}

/**
 * Follows the chain of every box through the stream: each chunk begins where the one before it has ended. Messages are numbered
 * without a gap: where a chain has a hole and the numbers have one as well, the stream had the chunk.
 */
export class Chains {
  /** Of each box and epoch. */
  readonly #epochs = new Map<string, End>();
  /** The highest seq of each box, in whatever epoch, and its last message. */
  readonly #boxes = new Map<string, End>();
  /** The last message, and the last number that no message has any more. */
  #at = 0;
  #gone = 0;
  readonly #canDelete: boolean;
  /** The epoch that each box began last. */
  readonly #current = new Map<string, string>();
  chunks = 0;
  events = 0;
  /** Boxes whose epochs take turns: two machines ship under one name. */
  readonly doubles = new Set<string>();

  /** @param canDelete whether a message can be deleted from the stream: where it cannot, one that is gone was lost. */
  constructor(canDelete: boolean) {
    this.#canDelete = canDelete;
  }

  get boxes(): number {
    return this.#boxes.size;
  }

  /**
   * Adds a message of the stream, in the stream's order.
   * @param head undefined where the headers are not those of a chunk.
   * @returns what is wrong with it.
   */
  add(
    { box, epoch }: { box: string; epoch: string },
    at: number,
    head: ChunkHead | undefined,
    data: Uint8Array,
  ): Break[] {
    if (at > this.#at + 1) this.#gone = at - 1;
    this.#at = at;
    this.chunks++;
    if (head === undefined) return [{ box, epoch, at, what: 'it does not have the headers of a chunk' }];
    this.events += head.count;
    const key = `${box}.${epoch}`;
    const [before, highest] = [this.#epochs.get(key), this.#boxes.get(box)];
    if (before === undefined) this.#current.set(box, epoch);
    else if (this.#current.get(box) !== epoch) this.doubles.add(box);
    this.#epochs.set(key, { last: head.last, at });
    this.#boxes.set(box, { last: Math.max(head.last, highest?.last ?? 0), at });
    const missing = this.#missing(before ?? highest, head);
    const what = [linkFault(before, highest, head), readData(head, data).fault];
    return what
      .filter((fault) => fault !== '')
      .map((what, i) => ({ box, epoch, at, what, ...(i === 0 && missing && { missing }) }));
  }

  /** @returns the events between a chunk and the end before it, where a message in between is gone. */
  #missing(end: End = { last: 0, at: 0 }, { after, last }: ChunkHead): Break['missing'] {
    const isGone = this.#canDelete && this.#gone > end.at && after > end.last && last > after;
    return isGone ? { from: end.last + 1, to: after } : undefined;
  }
}

function linkFault(before: End | undefined, highest: End | undefined, { after, last }: ChunkHead): string {
  if (last <= after) return `it ends with seq ${last}, and begins after seq ${after}`;
  if (before !== undefined) {
    return before.last === after
      ? ''
      : `it begins after seq ${after}, and the one before it ends with seq ${before.last}`;
  }
  if (highest === undefined)
    return after === 0 ? '' : `it is the first of its box, and begins after seq ${after} instead of 0`;
  // A new epoch: behind what headquarters had, or, after a restore, behind what the backup had of that.
  return after <= highest.last
    ? ''
    : `it is the first of its epoch, and begins after seq ${after}: the box's last one was ${highest.last}`;
}
