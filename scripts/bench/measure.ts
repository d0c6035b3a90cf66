import type { Child } from './child.ts';
import type { Order, Outcome } from './clients/client.ts';
import { type Contender, childrenOf, type Running, stopRunning } from './contender.ts';
import { deviceBytes } from './deviceBytes.ts';
import type { Load } from './load.ts';
import { COURTS } from './traffic.ts';

const RUN = 'bench';
/** Long enough for the slowest to answer, on a busy machine too. */
const FILL_S = 2;

/** One run of one load. */
export interface Sample {
  readonly eventsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Written to the device for each event; NaN where that cannot be told. */
  readonly writtenBytes: number;
  /** CPU time for each event, of all its processes. */
  readonly cpuUs: number;
}

/** A running contender and its measurements. */
export class Measured {
  readonly contender: Contender;
  readonly #directory: string | undefined;
  #running: Running;
  readonly #samples = new Map<Load, Sample[]>();
  /** Acknowledged events, and events that may have been stored without an answer when a run ended. */
  #answered = 0;
  #perhaps = 0;
  #before = 0;
  peakBytes = Number.NaN;
  /** The most memory at the end of a run, of all its processes; what they share counts once. */
  memoryBytes = 0;

  /** @param directory where its data is, for the bytes that are written. */
  constructor(contender: Contender, running: Running, directory?: string) {
    this.contender = contender;
    this.#running = running;
    this.#directory = directory;
    this.#pause();
  }

  /** Starts it again on the same data, and forgets its samples. @param under as for `Contender.start`. */
  async restart(under: readonly string[]): Promise<void> {
    await this.#stop();
    this.#samples.clear();
    this.#running = await this.contender.start(this.#directory!, under);
    this.#pause();
  }

  /** Runs a load for some seconds, while the other contenders are stopped. */
  async run(load: Load, seconds: number, send: (order: Order) => Promise<Outcome>): Promise<Sample> {
    const { child, target } = this.#running;
    const writtenBefore = await this.#writtenBytes();
    this.#resume();
    const cpuBefore = this.#sum('cpuSeconds');
    const { connections, events } = load;
    const outcome = await send({ target, connections, events, seconds, run: RUN, before: this.#before });
    if (child.hasEnded) child.fail();
    const cpuS = this.#sum('cpuSeconds') - cpuBefore;
    this.memoryBytes = Math.max(this.memoryBytes, this.#sum('memoryBytes'));
    this.#pause();
    const written = (await this.#writtenBytes()) - writtenBefore;
    if (outcome.failures > 0) {
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
      cpuUs: (cpuS * 1e6) / answered,
    };
  }

  /** Runs a load until this many events have been acknowledged. */
  async fill(load: Load, events: number, send: (order: Order) => Promise<Outcome>): Promise<void> {
    while (this.#answered < events) await this.run(load, FILL_S, send);
  }

  /** Events that were acknowledged, and not by `run`. */
  alsoStored(events: number): void {
    this.#answered += events;
  }

  /** @throws {Error} where nothing was answered, which a busy machine may do to a short run. */
  keep(load: Load, sample: Sample): void {
    if (sample.eventsPerS === 0)
      throw new Error(`${this.contender.title}, ${load.title}: no answer in time.`);
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
    const { child, stored } = this.#running;
    this.#resume();
    this.peakBytes = child.peakBytes();
    const events = await stored?.();
    await this.#stop();
    const most = this.#answered + this.#perhaps;
    if (events !== undefined && (events < this.#answered || events > most)) {
      const sent = `${this.#answered} to ${most}`;
      throw new Error(`${this.contender.title} holds ${events} events; ${sent} were sent and answered.`);
    }
    return events;
  }

  async #stop(): Promise<void> {
    this.#resume();
    await stopRunning(this.#running);
  }

  #writtenBytes(): Promise<number> {
    return this.#directory === undefined ? Promise.resolve(Number.NaN) : deviceBytes(this.#directory);
  }

  get #children(): readonly Child[] {
    return childrenOf(this.#running);
  }

  /** Stops all its processes while another one is measured, so that their background work does not slow that one down. */
  #pause(): void {
    for (const child of this.#children) child.pause();
  }

  #resume(): void {
    for (const child of this.#children) child.resume();
  }

  #sum(value: 'cpuSeconds' | 'memoryBytes'): number {
    return this.#children.reduce((sum, child) => sum + child[value](), 0);
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
