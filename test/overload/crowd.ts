import { count, type Tally, type Target, Wire } from './wire.ts';

/** What one of many does with its connection. */
export interface Behaviour {
  /** The connection is there. */
  open(wire: Wire, index: number): void;
  answered?(wire: Wire, status: number, index: number): void;
}

export interface CrowdOptions {
  readonly size: number;
  /** Addresses that they come from, in turn. */
  readonly addresses: readonly string[];
  /** Until a connection that has ended is opened again. */
  readonly againMs?: number;
  /** Whether answers are read. */
  readonly isReading?: boolean;
}

/** Connections opened at a time: more would only wait in the kernel's queue. */
const OPENED_AT_A_TIME = 100;
const OPENING_MS = 50;
/** Until it is tried again where nobody listens. */
const REFUSED_MS = 1_000;

/** Keeps as many connections as are asked for, each of which behaves the same way. */
export class Crowd {
  readonly wires = new Set<Wire>();
  readonly #target: Target;
  readonly #tally: Tally;
  readonly #options: CrowdOptions;
  readonly #behaviour: Behaviour;

  constructor(target: Target, tally: Tally, options: CrowdOptions, behaviour: Behaviour) {
    this.#target = target;
    this.#tally = tally;
    this.#options = options;
    this.#behaviour = behaviour;
  }

  /** @returns once all of them have been opened for the first time. */
  async gather(): Promise<void> {
    for (let index = 0; index < this.#options.size; index++) {
      this.#open(index);
      if (index % OPENED_AT_A_TIME === 0) await new Promise((resolve) => setTimeout(resolve, OPENING_MS));
    }
  }

  #open(index: number): void {
    const { addresses, againMs = 100, isReading = true } = this.#options;
    const { open, answered } = this.#behaviour;
    const take = (status: number) => {
      count(this.#tally, status);
      answered?.(wire, status, index);
    };
    let isConnected = false;
    const wire: Wire = new Wire(
      this.#target,
      addresses[index % addresses.length]!,
      isReading ? take : undefined,
      () => {
        this.wires.delete(wire);
        if (wire.owed > 0) count(this.#tally, 'lost');
        setTimeout(() => this.#open(index), isConnected ? againMs : REFUSED_MS);
      },
    );
    this.wires.add(wire);
    wire.socket.once('connect', () => {
      isConnected = true;
      open(wire, index);
    });
  }
}

/** @returns some addresses of this machine that no camera has. */
export function addresses(number: number): string[] {
  return Array.from({ length: number }, (_, i) => `127.0.1.${1 + i}`);
}
