import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers as makeHeaders, type NatsConnection } from '@nats-io/transport-node';
import { type Chunk, messageOf, readChunk } from '../log/chunk.ts';
import { MESSAGE_BYTES, STREAM, statusSubjectOf, subjectOf } from '../log/fleetLog.ts';
import type { Connector } from '../nats/connect.ts';
import { CODE, codeOf, faultOf, NatsFault } from '../nats/faults.ts';
import { type LastChunk, Moved } from './cursor.ts';

/** A server syncs its disk before it acknowledges, and may have to elect a leader first. */
const ANSWER_MS = 5_000;

const OPTIONS = { timeout: ANSWER_MS, checkAPI: false };

/** Where a shipper sends the log of its box: a NatsLog, or something that behaves like one. */
export type Headquarters = Pick<NatsLog, keyof NatsLog>;

/**
 * The log of a box in NATS JetStream. A chunk is one message, which the stream takes only if the last message of its subject is the
 * one that was expected: of a late original and its resend one is rejected, however late.
 */
export class NatsLog {
  readonly #connector: Connector;
  readonly #box: string;
  readonly #say: (sentence: string) => void;
  #connection: NatsConnection | undefined;
  #isTold = false;

  /** @param say is called once if the servers accept only smaller messages than an event may need. */
  constructor(connector: Connector, box: string, say: (sentence: string) => void) {
    this.#connector = connector;
    this.#box = box;
    this.#say = say;
  }

  /** Connects, if there is no connection. @throws {NatsFault} */
  async connect(): Promise<void> {
    if (this.isOpen()) return;
    // The library's own reconnecting would hide why a connection cannot be made.
    const options = { inboxPrefix: `_INBOX.${this.#box}`, reconnect: false };
    const connection = await this.#connector.connect(`courtd ${this.#box}`, options);
    this.#connection = connection;
    const limit = connection.info?.max_payload ?? MESSAGE_BYTES;
    if (limit >= MESSAGE_BYTES || this.#isTold) return;
    this.#isTold = true;
    this.#say(
      `${this.#connector.shown} accepts messages of ${limit} bytes, and the largest event needs ${MESSAGE_BYTES}. Set "max_payload: 9MB" on the servers.`,
    );
  }

  /**
   * As some server of the cluster has it: an old one only makes the next publish fail.
   * @returns the last message of an epoch; undefined if there is none.
   * @throws {NatsFault}
   */
  async last(epoch: string): Promise<LastChunk | undefined> {
    const subject = subjectOf(this.#box, epoch);
    const found = await this.#ask(async (connection) => {
      const { direct } = await jetstreamManager(connection, OPTIONS);
      return direct.getMessage(STREAM, { last_by_subj: subject });
    });
    if (found === null) return undefined;
    // A message of another subject must not fence this box.
    if (!(found.seq > 0) || found.subject !== subject) throw this.#unclear();
    const chunk = readChunk(found.data, found.header);
    return { place: found.seq, chunk: typeof chunk === 'string' ? undefined : chunk };
  }

  /**
   * Publishes a chunk behind the message that is the last one of its epoch; 0: none is.
   * @returns the number of its message, once it is on disk there.
   * @throws {NatsFault}, {Moved}: it may have been stored all the same, so ask for the last message.
   */
  async publish(epoch: string, chunk: Chunk, last: number): Promise<number> {
    const { data, headers: own } = await messageOf(chunk);
    const headers = makeHeaders();
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    const options = { headers, expect: { lastSubjectSequence: last } };
    const { seq, stream } = await this.#ask((connection) =>
      jetstream(connection, OPTIONS).publish(subjectOf(this.#box, epoch), data, options),
    );
    if (typeof seq !== 'number' || stream !== STREAM) throw this.#unclear();
    return seq;
  }

  /** Publishes the status of the box as JSON, if there is a connection: events may be connecting at this moment. */
  async tell(status: string): Promise<void> {
    if (!this.isOpen()) return;
    this.#connection!.publish(statusSubjectOf(this.#box), status);
    await this.#connection!.flush();
  }

  /** Whether there is a connection, as far as that is known without using it. */
  isOpen(): boolean {
    return this.#connection?.isClosed() === false;
  }

  close(): void {
    // Not waited for: nobody may be at its other end.
    void this.#connection?.close().catch(() => {});
    this.#connection = undefined;
  }

  /** @throws {NatsFault} or {Moved} */
  async #ask<Result>(work: (connection: NatsConnection) => Promise<Result>): Promise<Result> {
    await this.connect();
    try {
      return await work(this.#connection!);
    } catch (error) {
      if (CODE.moved.includes(codeOf(error) ?? 0)) throw new Moved();
      const fault = faultOf(error, this.#connector.shown);
      // Nobody may be at the other end of a connection that does not answer.
      if (fault.kind !== 'busy') this.close();
      throw fault;
    }
  }

  #unclear(): NatsFault {
    return new NatsFault(
      'busy',
      `What answers at ${this.#connector.shown} is not the stream ${STREAM}. Create it with "courtd fleet init" at headquarters.`,
    );
  }
}
