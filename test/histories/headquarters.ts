import type { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { EventFeed } from '../../src/fleet/feed/eventFeed.ts';
import { LocalFeed } from '../../src/fleet/feed/localFeed.ts';
import { Shipper } from '../../src/fleet/ship/shipper.ts';
import type { Chunk, StoredChunk } from '../../src/fleet/ship/sink/message.ts';
import { type ChunkSink, SinkError } from '../../src/fleet/ship/sink/sink.ts';
import { type Cursor, Fenced, hasChunk, startCursor } from '../../src/fleet/ship/sink/startCursor.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import type { Random } from '../../src/vendor/simulate/random.ts';
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
  /** Whether the line is good from now on. */
  isGood = false;

  constructor(model: Model) {
    this.#model = model;
  }

  /** @returns how many messages it has of this epoch now; undefined where it has another number than was expected. */
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

/** Of a daemon whose status nobody asks for. */
export class Feed extends LocalFeed {
  override async status(): Promise<undefined> {}
}

const LOST = new SinkError('connecting', 'The line is bad.');

/** The line of one shipper. */
class Line implements ChunkSink {
  readonly isSwappable = false;
  readonly #hq: Headquarters;
  readonly #feed: EventFeed;
  readonly #random: Random;

  constructor(hq: Headquarters, feed: EventFeed, random: Random) {
    this.#hq = hq;
    this.#feed = feed;
    this.#random = random;
  }

  async readCursor(): Promise<Cursor> {
    await this.#way();
    const { epochs } = await this.#feed.state();
    const lastOf = async (epoch: string) => {
      await this.#way();
      const log = this.#hq.logs.get(epoch);
      return log === undefined ? undefined : { state: log.length, chunk: log.at(-1)! };
    };
    try {
      return await startCursor(epochs, lastOf, (chunk) => hasChunk(this.#feed, chunk));
    } catch (error) {
      if (error instanceof Fenced) throw new SinkError('fenced', 'This is the log of another box.');
      throw error;
    }
  }

  async send({ after, last, lines }: Chunk, { epoch, state }: Cursor): Promise<Cursor> {
    const chunk = { after, last, lines };
    this.#hq.read(chunk);
    const expected = typeof state === 'number' ? state : 0;
    if (this.#isBad(0.1)) {
      this.#hq.delay({
        epoch,
        chunk,
        state: expected,
        at: timeline.monotonicMs + this.#random.integer(0, 20_000),
      });
      throw LOST;
    }
    await this.#way();
    const stored = this.#hq.store(epoch, chunk, expected);
    await this.#way();
    if (stored === undefined) throw new SinkError('moved', 'Headquarters has something else.');
    return { epoch, seq: last, state: stored };
  }

  async tellStatus(): Promise<void> {}
  isOpen(): boolean {
    return true;
  }
  async close(): Promise<void> {}

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

/** Where a shipper reads, and where it writes. */
export interface Route {
  readonly feed: Feed;
  readonly sink: ChunkSink;
  readonly url: string;
}

/** @returns the way from a box to headquarters. */
export function routeTo(hq: Headquarters, directory: DataDirectory, random: Random): Route {
  const feed = new Feed(directory);
  return { feed, sink: new Line(hq, feed, random), url: 'nats://headquarters' };
}

/** A shipper of a box: until it has caught up, or is told to end. @returns how it ended. */
export async function ship({ feed, sink, url }: Route, once: boolean, signal: AbortSignal) {
  const nothing = () => {};
  const options = { box: 'box', url, once, signal, onReport: nothing, onLeftOut: nothing };
  try {
    return await new Shipper(feed, sink, options).run();
  } finally {
    await feed.close();
  }
}
