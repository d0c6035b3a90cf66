import { type Msg, headers as makeHeaders, type NatsConnection } from '@nats-io/transport-node';
import { membersOf } from '../../base/json.ts';
import { STREAM, statusSubjectOf, subjectOf } from '../../nats/fleetLog.ts';
import type { EventFeed } from '../feed/eventFeed.ts';
import { type Chunk, chunkOf, messageOf } from './chunk.ts';
import { connectionError } from './connectionError.ts';
import { connectToNats, type NatsTarget } from './natsConnection.ts';
import { type Sink, SinkError } from './sink.ts';
import { type Cursor, Fenced, hasChunk, type LastMessage, startCursor } from './startCursor.ts';

/** A server that keeps what it acknowledges syncs its disk first, and a leader may have to be elected. */
const ANSWER_MS = 5_000;
/** The headers count for `max_payload`, too. */
const HEADER_BYTES = 1_024;
/** Of the server's error.go: the last message of the subject is another one; the message is larger than the stream allows. */
const WRONG_LAST_SEQUENCE = [10_071, 10_164];
const MESSAGE_TOO_LARGE = 10_054;
const NOT_FOUND = 404;

interface PublishAnswer {
  readonly stream?: string;
  readonly seq?: number;
  readonly error?: { readonly err_code?: number; readonly description?: string } | null;
}

/**
 * NATS JetStream. A chunk is one message, which gets in only where the last message of its subject is the one that was expected: of a
 * late original and its resend one is refused, however late. So there is no state here that matters, and no time after which it
 * could be forgotten.
 */
export class NatsSink implements Sink {
  readonly #target: NatsTarget;
  readonly #feed: EventFeed;
  #connection: NatsConnection | undefined;

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

  async send(chunk: Chunk, { epoch, expected }: Cursor): Promise<Cursor> {
    const { data, headers } = await messageOf(chunk);
    const nc = await this.#connected();
    const limit = nc.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (!(limit >= 2 * HEADER_BYTES)) {
      throw new SinkError(
        'waiting',
        `Headquarters takes messages of ${limit} bytes at most, which no event fits: have it set "max_payload: 8MB". The box keeps its events.`,
      );
    }
    if (data.length + HEADER_BYTES > limit) {
      throw new SinkError(
        'poison',
        `compressed, it has ${data.length} bytes, and headquarters accepts ${limit} in a message (max_payload).`,
      );
    }
    const answer = await this.#ask(this.#subject(epoch), data, {
      ...headers,
      'Nats-Expected-Last-Subject-Sequence': String(expected),
    });
    const { seq, stream, error } = membersOf(answer.string()) as PublishAnswer;
    if (error) throw sinkErrorOf(error);
    if (typeof seq !== 'number' || stream !== STREAM) {
      throw new SinkError(
        'waiting',
        `What answers for ${this.#subject(epoch)} is not the stream ${STREAM}: run "courtd fleet check" at headquarters.`,
      );
    }
    return { epoch, seq: chunk.last, expected: seq };
  }

  async tellStatus(read: () => Promise<object>): Promise<void> {
    const status = JSON.stringify(await read());
    // Not connected for its sake: events may be connecting at this moment, and a second connection would stay.
    if (!this.isOpen()) return;
    this.#connection!.publish(statusSubjectOf(this.#target.box), status);
    await this.#connection!.flush();
  }

  isOpen(): boolean {
    return this.#connection?.isClosed() === false;
  }

  async close(): Promise<void> {
    const nc = this.#connection;
    this.#connection = undefined;
    // Not waited for: nobody may be at its other end.
    void nc?.close().catch(() => {});
  }

  #subject(epoch: string): string {
    return subjectOf(this.#target.box, epoch);
  }

  /** The last message of a subject, as some server of the cluster has it: a stale one only makes the next publish fail. */
  async #last(subject: string): Promise<LastMessage | undefined> {
    const answer = await this.#ask(`$JS.API.DIRECT.GET.${STREAM}.${subject}`);
    if (answer.headers?.code === NOT_FOUND) return undefined;
    const { code, description } = answer.headers ?? {};
    const expected = Number(answer.headers?.get('Nats-Sequence'));
    // What is no message of the subject must not fence this box.
    if (code || !(expected > 0) || answer.headers?.get('Nats-Subject') !== subject) {
      const reason =
        description || (code ? `error ${code}` : `what answers for ${subject} is not the stream ${STREAM}`);
      throw new SinkError(
        'waiting',
        `Headquarters does not say what it has: ${reason}. The box keeps its events.`,
      );
    }
    return { expected, chunk: chunkOf(answer.data, answer.headers) };
  }

  async #ask(
    subject: string,
    data?: Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Msg> {
    const nc = await this.#connected();
    try {
      const all = makeHeaders();
      for (const [name, value] of Object.entries(headers)) all.set(name, value);
      return await nc.request(subject, data, { timeout: ANSWER_MS, headers: all });
    } catch (error) {
      const failure = connectionError(error, this.#target.name);
      // What does not answer may be a connection that nobody is at the other end of any more.
      if (failure.kind !== 'waiting') await this.close();
      throw failure;
    }
  }

  async #connected(): Promise<NatsConnection> {
    if (this.#connection?.isClosed() !== false) this.#connection = await connectToNats(this.#target);
    return this.#connection;
  }
}

function sinkErrorOf({
  err_code: code = 0,
  description = 'no reason given',
}: NonNullable<PublishAnswer['error']>): SinkError {
  if (WRONG_LAST_SEQUENCE.includes(code)) {
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
    `Headquarters takes no events now: ${description}. The box keeps them; "courtd fleet check" at headquarters says what to do.`,
  );
}
