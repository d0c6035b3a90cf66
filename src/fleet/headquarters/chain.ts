import { dataFault } from '../log/chunk.ts';
import type { ChunkHead } from '../nats/fleetLog.ts';

/** Where the log of a box is not whole. */
export interface Break {
  readonly box: string;
  readonly epoch: string;
  /** Of the message, in the stream. */
  readonly at: number;
  /** What is wrong, in a sentence. */
  readonly what: string;
}

/** Follows the chain of every box through the stream: each chunk begins where the one before it has ended. */
export class Chains {
  /** The last seq of each box and epoch. */
  readonly #epochs = new Map<string, number>();
  /** The highest seq of each box, in whatever epoch. */
  readonly #boxes = new Map<string, number>();
  /** The epoch that each box began last. */
  readonly #current = new Map<string, string>();
  chunks = 0;
  events = 0;
  /** Boxes whose epochs take turns: two machines ship under one name. */
  readonly doubles = new Set<string>();

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
    this.chunks++;
    if (head === undefined) return [{ box, epoch, at, what: 'it does not have the headers of a chunk' }];
    this.events += head.count;
    if (!this.#epochs.has(`${box}.${epoch}`)) this.#current.set(box, epoch);
    else if (this.#current.get(box) !== epoch) this.doubles.add(box);
    const what = [this.#linkFault(box, epoch, head), dataFault(head, data)].filter((fault) => fault !== '');
    this.#epochs.set(`${box}.${epoch}`, head.last);
    this.#boxes.set(box, Math.max(head.last, this.#boxes.get(box) ?? 0));
    return what.map((what) => ({ box, epoch, at, what }));
  }

  #linkFault(box: string, epoch: string, { after, last }: ChunkHead): string {
    if (last <= after) return `it ends with seq ${last}, and begins after seq ${after}`;
    const before = this.#epochs.get(`${box}.${epoch}`);
    const highest = this.#boxes.get(box);
    if (before !== undefined) {
      return before === after
        ? ''
        : `it begins after seq ${after}, and the one before it ends with seq ${before}`;
    }
    if (highest === undefined)
      return after === 0 ? '' : `it is the first of its box, and begins after seq ${after} instead of 0`;
    // A new epoch: behind what headquarters had, or, after a restore, behind what the backup had of that.
    return after <= highest
      ? ''
      : `it is the first of its epoch, and begins after seq ${after}: the box's last one was ${highest}`;
  }
}
