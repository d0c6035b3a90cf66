import type { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { Chunk as StoredChunk } from '../../src/fleet/log/chunk.ts';
import { NatsFault } from '../../src/fleet/nats/faults.ts';
import type { ShipReport } from '../../src/fleet/report/shipReport.ts';
import { type LastChunk, Moved } from '../../src/fleet/ship/cursor.ts';
import type { Headquarters as Destination } from '../../src/fleet/ship/natsLog.ts';
import { Shipper } from '../../src/fleet/ship/shipper.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import type { Random } from '../../src/vendor/simulate/random.ts';
import { localFeed } from '../harness/localFeed.ts';
import { sentOf } from './events.ts';
import type { Model } from './model.ts';
import { timeline } from './world.ts';

/** A chunk on its way, that headquarters has not seen yet. */
interface Late {
  readonly epoch: string;
  readonly chunk: StoredChunk;
  readonly state: number;
  readonly at: number;
}

/**
 * Headquarters: it outlives the box, and stores a chunk only behind the one that the box has seen last. The line to it drops messages
 * and answers, delays them, and delivers late what was sent long ago.
 */
export class Headquarters {
  readonly logs: Logs = new Map();
  readonly #model: Model;
  #late: Late[] = [];
  /** What the box knows to be shipped. */
  acknowledged: Pick<ShipReport, 'epoch' | 'shipped_seq'> | undefined;
  /** Whether the line is good from now on. */
  isGood = false;

  constructor(model: Model) {
    this.#model = model;
  }

  /** @returns how many messages it has of this epoch now; undefined if it has another number than was expected. */
  store(epoch: string, chunk: StoredChunk, state: number): number | undefined {
    const log = this.logs.get(epoch) ?? [];
    if (log.length !== state) return undefined;
    const last = log.at(-1)?.last;
    if (last !== undefined && chunk.after !== last)
      this.#model.violate(`a chunk after ${chunk.after} follows one up to ${last}`);
    this.logs.set(epoch, [...log, chunk]);
    return log.length + 1;
  }

  /** A shipper has read these from the box: they are on its disk. */
  read({ after, last, lines }: StoredChunk): void {
    for (const line of lines) {
      const { seq, event } = JSON.parse(line);
      if (seq <= after || seq > last)
        this.#model.violate(`seq ${seq} in a chunk after ${after} up to ${last}`);
      this.#model.shipped({ seq }, sentOf(decodeBatch(Buffer.from(JSON.stringify(event)))[0]!));
    }
  }

  delay(late: Late): void {
    this.#late.push(late);
  }

  /** What has arrived by now. */
  arrive(): void {
    const due = this.#late.filter(({ at }) => at <= timeline.monotonicMs);
    this.#late = this.#late.filter(({ at }) => at > timeline.monotonicMs);
    for (const { epoch, chunk, state } of due) this.store(epoch, chunk, state);
  }

  /** Every event that is stored up to where headquarters has this log is there. */
  check(epochs: readonly { readonly name: string }[], seqs: readonly number[]): void {
    const missing = missingIn(this.logs, epochs, seqs);
    if (missing !== undefined) this.#model.violate(`headquarters ${missing}`);
  }
}

/** The log of a box by epochs, in the order of arrival. */
export type Logs = Map<string, StoredChunk[]>;

/** @returns which of the seqs are missing before the end of a log, as the end of a sentence; undefined: none. */
export function missingIn(
  logs: Logs,
  epochs: readonly { readonly name: string }[],
  seqs: readonly number[],
): string | undefined {
  const chunks = epochs.flatMap(({ name }) => logs.get(name) ?? []);
  const there = new Set(chunks.flatMap(({ lines }) => lines.map((line) => JSON.parse(line).seq as number)));
  const last = logs.get(epochs.at(-1)!.name)?.at(-1)?.last ?? 0;
  const missing = seqs.filter((seq) => seq <= last && !there.has(seq));
  return missing.length === 0 ? undefined : `has the log up to ${last}, but not ${missing.join(', ')}`;
}

const LOST = new NatsFault('away', 'The line is bad.');

/** The line of one shipper. */
class Line implements Destination {
  readonly #hq: Headquarters;
  readonly #random: Random;

  constructor(hq: Headquarters, random: Random) {
    this.#hq = hq;
    this.#random = random;
  }

  async connect(): Promise<void> {
    await this.#way();
  }

  async last(epoch: string): Promise<LastChunk | undefined> {
    await this.#way();
    const log = this.#hq.logs.get(epoch);
    return log === undefined ? undefined : { place: log.length, chunk: log.at(-1)! };
  }

  async publish(epoch: string, { after, last, lines }: StoredChunk, expected: number): Promise<number> {
    const chunk = { after, last, lines };
    this.#hq.read(chunk);
    if (this.#isBad(0.1)) {
      const at = timeline.monotonicMs + this.#random.integer(0, 20_000);
      this.#hq.delay({ epoch, chunk, state: expected, at });
      throw LOST;
    }
    await this.#way();
    const stored = this.#hq.store(epoch, chunk, expected);
    await this.#way();
    if (stored === undefined) throw new Moved();
    this.#hq.acknowledged = { epoch, shipped_seq: last };
    return stored;
  }

  async tell(): Promise<void> {}
  isOpen(): boolean {
    return true;
  }
  close(): void {}

  /** There or back. */
  async #way(): Promise<void> {
    this.#hq.arrive();
    if (this.#isBad(0.3))
      await new Promise<void>((resolve) => setTimeout(resolve, this.#random.integer(1, 3000)));
    if (this.#isBad(0.1)) throw LOST;
    this.#hq.arrive();
  }

  #isBad(chance: number): boolean {
    return !this.#hq.isGood && this.#random.chance(chance);
  }
}

/** A shipper of a box: until it has caught up, or must end. @returns how it ended. */
export type Route = (
  once: boolean,
  signal: AbortSignal,
) => Promise<Pick<ShipReport, 'state' | 'shipped_seq' | 'error'>>;

/** @returns the way from a box to headquarters. */
export function routeTo(hq: Headquarters, directory: DataDirectory, random: Random): Route {
  return (once, signal) => {
    const options = { box: 'box', url: 'nats://headquarters', once, runDir: undefined, signal };
    const openFeed = () => localFeed(directory, { signal });
    return new Shipper(openFeed, new Line(hq, random), { ...options, onChange: () => {} }).run();
  };
}
