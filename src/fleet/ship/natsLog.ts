import {
  JetStreamApiError,
  type JetStreamClient,
  JetStreamError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import { headers as makeHeaders, type NatsConnection } from '@nats-io/transport-node';
import type { StoredChunk } from '../log/chunk.ts';
import { chunkOf, messageOf } from '../log/message.ts';
import type { Connector } from '../nats/connect.ts';
import { CODE, codeOf, faultOf, NatsFault } from '../nats/faults.ts';
import { MESSAGE_BYTES, STREAM, statusSubjectOf, subjectOf } from '../nats/fleetLog.ts';
import type { LastChunk } from './cursor.ts';
import { type Headquarters, Moved } from './headquarters.ts';

/** A server syncs its disk before it acknowledges, and may have to elect a leader first. */
const ANSWER_MS = 5_000;
/** The headers count for `max_payload`, too. */
const HEADER_BYTES = 1_024;

interface Link {
  readonly connection: NatsConnection;
  readonly publisher: JetStreamClient;
  readonly manager: JetStreamManager;
}

/**
 * The log of a box in NATS JetStream. A chunk is one message, which the stream takes only if the last message of its subject is the
 * one that was expected: of a late original and its resend one is refused, however late.
 */
export class NatsLog implements Headquarters {
  readonly #connector: Connector;
  readonly #box: string;
  readonly #say: (sentence: string) => void;
  #link: Link | undefined;
  #isTold = false;

  /** @param say is called once if the servers accept only smaller messages than an event may need. */
  constructor(connector: Connector, box: string, say: (sentence: string) => void) {
    this.#connector = connector;
    this.#box = box;
    this.#say = say;
  }

  async connect(): Promise<void> {
    if (this.isOpen()) return;
    // The library's own reconnecting would hide why a connection cannot be made.
    const options = { inboxPrefix: `_INBOX.${this.#box}`, reconnect: false };
    const connection = await this.#connector.connect(`courtd ${this.#box}`, options);
    const js = { timeout: ANSWER_MS, checkAPI: false };
    const manager = await jetstreamManager(connection, js);
    this.#link = { connection, publisher: jetstream(connection, js), manager };
    const limit = connection.info?.max_payload ?? MESSAGE_BYTES;
    if (limit >= MESSAGE_BYTES || this.#isTold) return;
    this.#isTold = true;
    this.#say(
      `${this.#connector.shown} accepts messages of ${limit} bytes, and the largest event needs ${MESSAGE_BYTES}. Set "max_payload: 9MB" on the servers.`,
    );
  }

  /** As some server of the cluster has it: an old one only makes the next publish fail. */
  async last(epoch: string): Promise<LastChunk | undefined> {
    const subject = subjectOf(this.#box, epoch);
    const found = await this.#ask(({ manager }) =>
      manager.direct.getMessage(STREAM, { last_by_subj: subject }),
    );
    if (found === null) return undefined;
    // A message of another subject must not fence this box.
    if (!(found.seq > 0) || found.subject !== subject) throw this.#unclear(subject);
    return { place: found.seq, chunk: chunkOf(found.data, found.header) };
  }

  async publish(epoch: string, chunk: StoredChunk, last: number): Promise<number> {
    const { data, headers: own } = await messageOf(chunk);
    const subject = subjectOf(this.#box, epoch);
    const headers = makeHeaders();
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    const { seq, stream } = await this.#ask(async ({ publisher, connection }) => {
      const limit = connection.info?.max_payload ?? MESSAGE_BYTES;
      if (data.length + HEADER_BYTES > limit) throw this.#tooLarge(chunk, data.length + HEADER_BYTES, limit);
      try {
        return await publisher.publish(subject, data, { headers, expect: { lastSubjectSequence: last } });
      } catch (error) {
        const code = codeOf(error);
        if (code === CODE.tooLarge) throw this.#tooLarge(chunk, data.length + HEADER_BYTES, 'fewer');
        throw code !== undefined && CODE.moved.includes(code) ? new Moved() : error;
      }
    });
    if (typeof seq !== 'number' || stream !== STREAM) throw this.#unclear(subject);
    return seq;
  }

  async tell(status: string): Promise<void> {
    // Not connected for its sake: events may be connecting at this moment.
    if (!this.isOpen()) return;
    const { connection } = this.#link!;
    connection.publish(statusSubjectOf(this.#box), status);
    await connection.flush();
  }

  isOpen(): boolean {
    return this.#link?.connection.isClosed() === false;
  }

  close(): void {
    // Not waited for: nobody may be at its other end.
    void this.#link?.connection.close().catch(() => {});
    this.#link = undefined;
  }

  /** @throws {NatsFault} or {Moved} */
  async #ask<Result>(work: (link: Link) => Promise<Result>): Promise<Result> {
    await this.connect();
    try {
      return await work(this.#link!);
    } catch (error) {
      if (error instanceof Moved || error instanceof NatsFault) throw error;
      // What the library cannot read as an answer ends in an error of JavaScript's own.
      const isMisread = error instanceof SyntaxError || error instanceof TypeError;
      const isOfJetStream = error instanceof JetStreamError || error instanceof JetStreamApiError;
      if (isMisread || (isOfJetStream && codeOf(error) === undefined))
        throw this.#unclear(this.#connector.shown);
      const fault = faultOf(error, this.#connector.shown);
      // Nobody may be at the other end of a connection that does not answer.
      if (fault.kind !== 'busy') this.close();
      throw fault;
    }
  }

  #unclear(what: string): NatsFault {
    return new NatsFault(
      'busy',
      `What answers for ${what} is not the stream ${STREAM}. Create it with "courtd fleet init" at headquarters.`,
    );
  }

  #tooLarge({ last }: StoredChunk, bytes: number, limit: number | string): NatsFault {
    return new NatsFault(
      'refused',
      `The events up to seq ${last} need a message of ${bytes} bytes, and ${this.#connector.shown} accepts ${limit}. Set "max_payload: 9MB" on the servers and run "courtd fleet init"; nothing is shipped until then.`,
    );
  }
}
