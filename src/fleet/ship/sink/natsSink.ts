import {
  JetStreamApiError,
  type JetStreamClient,
  JetStreamError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type PubAck,
} from '@nats-io/jetstream';
import { headers as makeHeaders, type NatsConnection } from '@nats-io/transport-node';
import type { EventFeed } from '../../feed/eventFeed.ts';
import { STREAM, statusSubjectOf, subjectOf } from '../../nats/fleetLog.ts';
import { connectionError } from './connectionError.ts';
import { type Chunk, chunkOf, type Message, messageOf } from './message.ts';
import { connectToNats, type NatsTarget } from './natsConnection.ts';
import { type ChunkSink, SinkError } from './sink.ts';
import { type Cursor, Fenced, hasChunk, type LastChunk, startCursor } from './startCursor.ts';

/** A server that keeps what it acknowledges syncs its disk first, and a leader may have to be elected. */
const ANSWER_MS = 5_000;
/** The headers count for `max_payload`, too. */
export const HEADER_BYTES = 1_024;
/** Of the server's error.go: the last message of the subject is another one; the message is larger than the stream allows. */
const WRONG_LAST_SEQUENCE = [10_071, 10_164];
const MESSAGE_TOO_LARGE = 10_054;

interface Link {
  readonly connection: NatsConnection;
  readonly publisher: JetStreamClient;
  readonly manager: JetStreamManager;
}

/**
 * NATS JetStream. A chunk is one message, which gets in only where the last message of its subject is the one that was expected (a
 * cursor's state is its sequence): of a late original and its resend one is refused, however late. So there is no state here that
 * matters, and no time after which it could be forgotten.
 */
export class NatsSink implements ChunkSink {
  readonly isSwappable = false;
  readonly #target: NatsTarget;
  readonly #feed: EventFeed;
  #link: Link | undefined;

  constructor(target: NatsTarget, feed: EventFeed) {
    this.#target = target;
    this.#feed = feed;
  }

  async readCursor(): Promise<Cursor> {
    const { epochs } = await this.#feed.state();
    const lastOf = (epoch: string) => this.#last(this.#subject(epoch));
    try {
      return await startCursor(epochs, lastOf, (chunk) => hasChunk(this.#feed, chunk));
    } catch (error) {
      if (!(error instanceof Fenced)) throw error;
      throw new SinkError(
        'fenced',
        `Headquarters has events of ${this.#subject(epochs.at(-1)!.name)} that are not of this box: another box was made from a copy ` +
          'of it, or its database was put back without "courtd restore". Nothing more is shipped. Find the other box; then give this ' +
          'one a log of its own ("sudo courtd ship epoch --new") and start it again ("sudo systemctl restart courtd-ship").',
      );
    }
  }

  async send(chunk: Chunk, { epoch, state }: Cursor): Promise<Cursor> {
    const message = await messageOf(chunk);
    const { data } = message;
    const { connection } = await this.#linked();
    const limit = connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (!(limit >= 2 * HEADER_BYTES)) {
      throw new SinkError(
        'waiting',
        `Headquarters takes messages of ${limit} bytes at most, which no event fits: have it set "max_payload: 9MB". The box keeps its events.`,
      );
    }
    if (data.length + HEADER_BYTES > limit) {
      throw new SinkError(
        'poison',
        `compressed, it has ${data.length} bytes, and headquarters accepts ${limit} in a message (max_payload).`,
      );
    }
    const subject = this.#subject(epoch);
    const { stream, seq } = await this.#ask(
      ({ publisher }) => publishChunk(publisher, subject, message, state),
      (error) => refusalOf(error, subject),
    );
    if (typeof seq !== 'number' || stream !== STREAM) throw refusalOf(undefined, subject);
    return { epoch, seq: chunk.last, state: seq };
  }

  async tellStatus(read: () => Promise<object>): Promise<void> {
    const status = JSON.stringify(await read());
    // Not connected for its sake: events may be connecting at this moment, and a second connection would stay.
    if (!this.isOpen()) return;
    const { connection } = this.#link!;
    connection.publish(statusSubjectOf(this.#target.box), status);
    await connection.flush();
  }

  isOpen(): boolean {
    return this.#link?.connection.isClosed() === false;
  }

  async close(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    // Not waited for: nobody may be at its other end.
    void link?.connection.close().catch(() => {});
  }

  #subject(epoch: string): string {
    return subjectOf(this.#target.box, epoch);
  }

  /** The last message of a subject, as some server of the cluster has it: a stale one only makes the next publish fail. */
  async #last(subject: string): Promise<LastChunk | undefined> {
    const found = await this.#ask(
      ({ manager }) => manager.direct.getMessage(STREAM, { last_by_subj: subject }),
      (error) => unclear(subject, error),
    );
    if (found === null) return undefined;
    // What is no message of the subject must not fence this box.
    if (!(found.seq > 0) || found.subject !== subject) throw unclear(subject);
    return { state: found.seq, chunk: chunkOf(found.data, found.header) };
  }

  /** @param refused makes the error of an answer that is none, or says no. @throws {SinkError} */
  async #ask<Result>(
    work: (link: Link) => Promise<Result>,
    refused: (error: unknown) => SinkError,
  ): Promise<Result> {
    const link = await this.#linked();
    try {
      return await work(link);
    } catch (error) {
      if (isAnswer(error)) throw refused(error);
      const failure = connectionError(error, this.#target.connector.shown);
      // What does not answer may be a connection that nobody is at the other end of any more.
      if (failure.kind !== 'waiting') await this.close();
      throw failure;
    }
  }

  async #linked(): Promise<Link> {
    if (this.#link?.connection.isClosed() !== false) {
      const connection = await connectToNats(this.#target);
      const options = { timeout: ANSWER_MS, checkAPI: false };
      const manager = await jetstreamManager(connection, options);
      this.#link = { connection, publisher: jetstream(connection, options), manager };
    }
    return this.#link;
  }
}

/** Publishes a chunk. @param state of the cursor that it goes on behind. @throws {JetStreamApiError} where that has moved: isMoved. */
export function publishChunk(
  publisher: JetStreamClient,
  subject: string,
  { data, headers: own }: Message,
  state: unknown,
): Promise<PubAck> {
  const headers = makeHeaders();
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  const expect = { lastSubjectSequence: typeof state === 'number' ? state : 0 };
  return publisher.publish(subject, data, { headers, expect });
}

/** Whether the last message of a subject is another one than was expected. */
export function isMoved(error: unknown): boolean {
  return WRONG_LAST_SEQUENCE.includes(apiErrorIn(error)?.code ?? 0);
}

/** Whether an error of the library says that something came: what it cannot read as JSON ends in an error of JavaScript's own. */
function isAnswer(error: unknown): boolean {
  const isMisread = error instanceof SyntaxError || error instanceof TypeError;
  return isMisread || error instanceof JetStreamError || apiErrorIn(error) !== undefined;
}

function apiErrorIn(error: unknown): JetStreamApiError | undefined {
  return [error, (error as Error | undefined)?.cause].find((one) => one instanceof JetStreamApiError);
}

/** @param error of the answer to a chunk. */
function refusalOf(error: unknown, subject: string): SinkError {
  const refusal = apiErrorIn(error);
  if (refusal === undefined) {
    return new SinkError(
      'waiting',
      `What answers for ${subject} is not the stream ${STREAM}: create it with "courtd fleet init" at headquarters.`,
    );
  }
  const { code, message } = refusal;
  const description = message || 'no reason given';
  if (isMoved(refusal)) {
    return new SinkError(
      'moved',
      'Headquarters has another last message than it says: one of its servers is late, or another box ships under this name. The box ' +
        'keeps its events and goes on trying.',
    );
  }
  if (code === MESSAGE_TOO_LARGE)
    return new SinkError('poison', `headquarters does not take it: ${description}.`);
  return new SinkError(
    'waiting',
    `Headquarters takes no events now: ${description}. The box keeps them and tries again.`,
  );
}

/** @param error of the answer that should be the last message of a subject. */
function unclear(subject: string, error?: unknown): SinkError {
  const isSaid = error instanceof JetStreamError && error.message !== 'unknown';
  const reason = isSaid ? error.message : `what answers for ${subject} is not the stream ${STREAM}`;
  return new SinkError(
    'waiting',
    `Headquarters does not say what it has: ${reason}. The box keeps its events.`,
  );
}
