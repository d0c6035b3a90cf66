import { Batches } from './requests.ts';
import { count, type Tally, type Target, Wire } from './wire.ts';

/**
 * Requests that are sent when they are due, whatever has become of those before. Each has a connection to itself
 * while it is out: a free one of its address, or a new one. Where an address has as many as a machine can have out,
 * its requests are dropped unsent, as a camera does whose own queue is full.
 */

export interface OpenLoopOptions {
  readonly perSecond: number;
  readonly addresses: readonly string[];
}

const TICK_MS = 5;
/** Less than what courtd takes of one address. */
const CONNECTIONS_OF_ONE = 250;

export async function openLoop(target: Target, tally: Tally, options: OpenLoopOptions): Promise<void> {
  const { perSecond, addresses } = options;
  const senders = addresses.map((address) => new Sender(target, tally, address));
  let sentAt = performance.now();
  let due = 0;
  let turn = 0;
  setInterval(() => {
    const now = performance.now();
    due += ((now - sentAt) / 1000) * perSecond;
    // A tick that came much too late does not become a burst.
    due = Math.min(due, (perSecond * TICK_MS * 4) / 1000);
    sentAt = now;
    for (; due >= 1; due--) senders[turn++ % senders.length]!.send();
  }, TICK_MS);
}

class Sender {
  readonly #target: Target;
  readonly #tally: Tally;
  readonly #address: string;
  readonly #batches: Batches;
  readonly #free: Wire[] = [];
  #connections = 0;

  constructor(target: Target, tally: Tally, address: string) {
    this.#target = target;
    this.#tally = tally;
    this.#address = address;
    this.#batches = new Batches(target, `overload-${address}`, 1);
  }

  send(): void {
    let wire = this.#free.pop();
    if (wire === undefined && this.#connections < CONNECTIONS_OF_ONE) wire = this.#open();
    if (wire === undefined) return count(this.#tally, 'unsent');
    wire.owed++;
    wire.socket.write(this.#batches.next());
  }

  #open(): Wire {
    this.#connections++;
    const wire: Wire = new Wire(
      this.#target,
      this.#address,
      (status) => {
        count(this.#tally, status);
        this.#free.push(wire);
      },
      () => {
        this.#connections--;
        const at = this.#free.indexOf(wire);
        if (at >= 0) this.#free.splice(at, 1);
        if (wire.owed > 0) count(this.#tally, 'lost');
      },
    );
    return wire;
  }
}
