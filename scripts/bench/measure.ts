import type { Child } from './child.ts';
import type { Order, Outcome } from './clients/client.ts';
import type { Contender, Running } from './contender.ts';
import type { Load } from './load.ts';
import { COURTS } from './traffic.ts';

const RUN = 'bench';

/** One run of one load. */
export interface Sample {
  readonly eventsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Written to the device for each event. */
  readonly writtenBytes: number;
  /** CPU time for each event, of all its processes. */
  readonly cpuUs: number;
}

/** A running contender and its measurements. */
export class Measured {
  readonly contender: Contender;
  readonly #running: Running;
  readonly #children: readonly Child[];
  readonly #samples = new Map<Load, Sample[]>();
  /** Acknowledged events, and events that may have been stored without an answer when a run ended. */
  #answered = 0;
  #perhaps = 0;
  #before = 0;
  peakBytes = Number.NaN;
  /** The most memory at the end of a run, of all its processes; what they share counts once. */
  memoryBytes = 0;

  constructor(contender: Contender, running: Running) {
    this.contender = contender;
    this.#running = running;
    this.#children = [running.child, ...(running.servers ?? [])];
    this.#pause();
  }

  /** Runs a load for some seconds, while the other contenders are stopped. */
  async run(load: Load, seconds: number, send: (order: Order) => Promise<Outcome>): Promise<Sample> {
    const { child, target } = this.#running;
    this.#resume();
    const [writtenBefore, cpuBefore] = [this.#sum('writtenBytes'), this.#sum('cpuSeconds')];
    const { connections, events } = load;
    const outcome = await send({ target, connections, events, seconds, run: RUN, before: this.#before });
    if (child.hasEnded) child.fail();
    const written = this.#sum('writtenBytes') - writtenBefore;
    const cpuS = this.#sum('cpuSeconds') - cpuBefore;
    this.memoryBytes = Math.max(this.memoryBytes, this.#sum('memoryBytes'));
    this.#pause();
    if (outcome.failures > 0 || outcome.requests === 0) {
      throw new Error(`${this.contender.title}, ${load.title}: ${outcome.failures} requests failed.`);
    }
    const answered = outcome.requests * events;
    this.#answered += answered;
    this.#perhaps += connections * events;
    // Some courts were a request ahead of the others.
    this.#before += answered + (connections + COURTS) * events;
    return {
      eventsPerS: answered / outcome.seconds,
      p50Ms: outcome.p50Us / 1000,
      p99Ms: outcome.p99Us / 1000,
      writtenBytes: written / answered,
      // What a process that has ended meanwhile had used is not known any more.
      cpuUs: cpuS < 0 ? Number.NaN : (cpuS * 1e6) / answered,
    };
  }

  /** Runs a load until this many events have been acknowledged. */
  async fill(load: Load, events: number, send: (order: Order) => Promise<Outcome>): Promise<void> {
    while (this.#answered < events) await this.run(load, 1, send);
  }

  /** Events that were acknowledged, and not by `run`. */
  alsoStored(events: number): void {
    this.#answered += events;
  }

  keep(load: Load, sample: Sample): void {
    this.#samples.set(load, [...this.samples(load), sample]);
  }

  /** One for each round, in their order. */
  samples(load: Load): readonly Sample[] {
    return this.#samples.get(load) ?? [];
  }

  median(load: Load, value: keyof Sample): number {
    return median(this.samples(load).map((sample) => sample[value]));
  }

  /**
   * Stops the contender.
   * @returns how many events it holds, undefined where it stores none.
   * @throws {Error} where that is less than it acknowledged, or more than it was sent.
   */
  async finish(): Promise<number | undefined> {
    const { child, servers = [], stored } = this.#running;
    this.#resume();
    this.peakBytes = child.peakBytes();
    const events = await stored?.();
    await child.stop();
    for (const server of servers) await server.stop('SIGINT');
    const most = this.#answered + this.#perhaps;
    if (events !== undefined && (events < this.#answered || events > most)) {
      const sent = `${this.#answered} to ${most}`;
      throw new Error(`${this.contender.title} holds ${events} events; ${sent} were sent and answered.`);
    }
    return events;
  }

  /** Stops all its processes while another one is measured, so that their background work does not slow that one down. */
  #pause(): void {
    for (const child of this.#children) child.pause();
  }

  #resume(): void {
    for (const child of this.#children) child.resume();
  }

  #sum(value: 'writtenBytes' | 'cpuSeconds' | 'memoryBytes'): number {
    return this.#children.reduce((sum, child) => sum + child[value](), 0);
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
