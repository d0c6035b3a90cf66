import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import type { BoxFile } from '../copy/boxFile.ts';
import type { CopiedEpoch, OwnedCopy } from '../copy/copyFiles.ts';
import { type CopiedChunk, readEpoch } from '../copy/readCopy.ts';
import { isSameEvent, seqOf } from '../log/chunk.ts';
import { STREAM, subjectOf } from '../nats/fleetLog.ts';
import { chunkOf, messageOf } from '../ship/sink/message.ts';
import { HEADER_BYTES, isMoved, publishChunk } from '../ship/sink/natsSink.ts';
import { type Cursor, Fenced, type LastChunk, startCursor } from '../ship/sink/startCursor.ts';
import { Retries } from './retries.ts';

/** A server that keeps what it acknowledges syncs its disk first. */
const ANSWER_MS = 10_000;

interface ImportOptions {
  /** Goes on where something is missing in the copy. */
  readonly allowHoles: boolean;
  /** Called with the events that were read so far. */
  readonly onEvents: (events: number) => void;
  /** What is left out, in a sentence. */
  readonly onMissing: (sentence: string) => void;
}

/** What has been carried of a copy; counts of events, but for chunks and holes. */
export interface Imported {
  readonly box: string;
  events: number;
  chunks: number;
  /** Were at headquarters before. */
  there: number;
  /** The last one at headquarters, of the last epoch of the copy; 0: none. */
  lastSeq: number;
  /** Places where something is missing. */
  holes: number;
  /** Too large for headquarters. */
  leftOut: number;
}

/**
 * Carries the copy of a box to headquarters as the box would ship it: each epoch behind what headquarters has of it, each chunk in
 * only behind the one before it. Done again it goes on where it was ended; the box goes on behind it.
 * @param imported is counted up as it goes: what it says is there, also where this fails.
 * @throws {OperatorError} where the copy has a hole, or what headquarters has is of another box.
 */
export async function importCopy(
  nc: NatsConnection,
  { epochs, box }: OwnedCopy,
  imported: Imported,
  options: ImportOptions,
): Promise<void> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  for (const epoch of epochs) {
    const at = box.epochs.findIndex(({ name }) => name === epoch.name);
    if (at < 0) {
      options.onMissing(`The epoch ${epoch.name} is left out: a backup that was restored has replaced it.`);
      continue;
    }
    const carrier = new Carrier(nc, manager, box.epochs.slice(0, at + 1), imported, options);
    await carrier.carry(epoch);
  }
}

/** Carries an epoch. */
class Carrier {
  readonly #publisher: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #epochs: BoxFile['epochs'];
  readonly #imported: Imported;
  readonly #options: ImportOptions;
  readonly #limit: number;
  #cursor: Cursor = { epoch: '', seq: 0, state: undefined };
  /** Events up to here are carried, or left out. */
  #passed = 0;

  /** @param epochs of the box, up to this one. */
  constructor(
    nc: NatsConnection,
    manager: JetStreamManager,
    epochs: BoxFile['epochs'],
    imported: Imported,
    options: ImportOptions,
  ) {
    this.#publisher = jetstream(nc, { timeout: ANSWER_MS, checkAPI: false });
    this.#manager = manager;
    this.#epochs = epochs;
    this.#imported = imported;
    this.#options = options;
    this.#limit = nc.info?.max_payload ?? Number.POSITIVE_INFINITY;
  }

  async carry(epoch: CopiedEpoch): Promise<void> {
    const imported = this.#imported;
    const stored = await this.#last(epoch.name);
    const known = new Map(stored?.chunk?.lines.map((line) => [seqOf(line), line]));
    // What headquarters has of this epoch is compared below, while it is passed over.
    const isOurs = async () => true;
    this.#cursor = await startCursor(this.#epochs, (name) => this.#last(name), isOurs).catch((error) => {
      throw error instanceof Fenced ? this.#fenced() : error;
    });
    this.#passed = imported.lastSeq = this.#cursor.seq;
    for await (const chunk of readEpoch(epoch, this.#options.onMissing)) {
      if (chunk.lines.some((line) => !isSameEvent(known.get(seqOf(line)) ?? line, line)))
        throw this.#fenced();
      const lines = chunk.lines.filter((line) => seqOf(line) > this.#cursor.seq);
      imported.there += chunk.lines.length - lines.length;
      if (lines.length === 0) continue;
      this.#checkHole(chunk);
      const isWhole = lines.length === chunk.lines.length;
      await this.#send(lines, isWhole ? chunk.data : undefined);
      this.#passed = chunk.last;
      this.#options.onEvents(imported.there + imported.events);
    }
  }

  #checkHole({ after, lines, hole }: CopiedChunk): void {
    const seq = this.#passed;
    const next = seqOf(lines[0]!);
    if (after <= seq && (hole === undefined || next <= seq + 1)) return;
    const what = `Events of ${this.#imported.box} are missing in the copy between seq ${seq}, which headquarters has, and seq ${next}: ${hole ?? `it begins behind seq ${after}`}.`;
    if (!this.#options.allowHoles) {
      throw new OperatorError(
        `${what} Import what has them first: another copy, or "courtd ship" on the box. Where nothing has them, such as after a prune, --allow-holes goes on without them; headquarters then never takes them.`,
      );
    }
    this.#imported.holes++;
    this.#options.onMissing(what);
  }

  /** @param packed the same lines as a copy has them. */
  async #send(lines: readonly string[], packed?: Buffer): Promise<void> {
    const { epoch, seq: after, state } = this.#cursor;
    const last = seqOf(lines.at(-1)!);
    const message = await messageOf({ after, last, lines }, packed);
    if (message.data.length + HEADER_BYTES > this.#limit) return this.#split(lines, message.data.length);
    const subject = subjectOf(this.#imported.box, epoch);
    const { seq } = await publishChunk(this.#publisher, subject, message, state).catch((error) => {
      throw isMoved(error)
        ? new OperatorError(
            `Somebody else ships as ${this.#imported.box} at this moment. Run this again when nobody does.`,
          )
        : error;
    });
    this.#cursor = { epoch, seq: last, state: seq };
    this.#imported.chunks++;
    this.#imported.events += lines.length;
    this.#imported.lastSeq = last;
  }

  /** As a shipper does it: what is too large goes in parts, and an event that is too large is left out. */
  async #split(lines: readonly string[], bytes: number): Promise<void> {
    if (lines.length > 1) {
      const half = Math.ceil(lines.length / 2);
      await this.#send(lines.slice(0, half));
      return this.#send(lines.slice(half));
    }
    this.#imported.leftOut++;
    this.#options.onMissing(
      `seq ${seqOf(lines[0]!)} of ${this.#imported.box} is left out: compressed, it has ${bytes} bytes, and headquarters accepts ${this.#limit} in a message (max_payload).`,
    );
  }

  /** As the leader has it. */
  async #last(epoch: string): Promise<LastChunk | undefined> {
    const last_by_subj = subjectOf(this.#imported.box, epoch);
    const found = await new Retries().until(() => this.#manager.streams.getMessage(STREAM, { last_by_subj }));
    return found === null ? undefined : { state: found.seq, chunk: chunkOf(found.data, found.header) };
  }

  #fenced(): OperatorError {
    const { box } = this.#imported;
    return new OperatorError(
      `Headquarters has other events of ${box} (epoch ${this.#epochs.at(-1)!.name}) than the copy, under the same seqs: another box was made from a copy of this one, and both ship. Nothing of the copy is carried. Find the other box, and give it a name and a log of its own ("courtd ship epoch --new").`,
    );
  }
}
