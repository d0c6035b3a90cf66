import { DeliverPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { STATUS_SUBJECTS, STREAM, SUBJECTS } from '../log/fleetLog.ts';
import { CODE, codeOf } from '../nats/faults.ts';
import { untilReady } from './withHeadquarters.ts';

interface ReadStreamOptions {
  readonly stream: string;
  /** Only these subjects. */
  readonly filter?: string | undefined;
  /** Only the last message of each subject. */
  readonly last?: boolean;
  /** Only headers, no data. */
  readonly headersOnly?: boolean;
}

/** Messages in flight: a chunk is at most half a megabyte. */
const AHEAD = 32;
/** A pull that is not answered is renewed after twice this. */
const HEARTBEAT_MS = 5_000;
/** Gives up after this long without an answer. */
const STALLED_MS = 60_000;

/**
 * Reads a stream in order, from its first message to the last one that was there when it began. Lost connections and
 * elections are passed over; no message is left out or given twice.
 * @throws {OperatorError} if there is no such stream, or its servers stop answering.
 */
export async function* readStream(nc: NatsConnection, options: ReadStreamOptions): AsyncGenerator<JsMsg> {
  const { stream, last = false, headersOnly = false } = options;
  // With ">" nats-server 2.15 finds none if the last message of the stream was deleted.
  const filter = options.filter ?? (stream === STREAM ? SUBJECTS : STATUS_SUBJECTS);
  const lastSeq = await untilReady(() => lastSeqOf(nc, stream, filter));
  if (lastSeq === 0) return;
  const wanted = {
    filter_subjects: filter,
    deliver_policy: last ? DeliverPolicy.LastPerSubject : DeliverPolicy.All,
    headers_only: headersOnly,
  };
  const consumer = await untilReady(() => jetstream(nc).consumers.get(stream, wanted));
  const messages = await consumer.consume({ max_messages: AHEAD, idle_heartbeat: HEARTBEAT_MS });
  const giveUp = () => setTimeout(() => messages.stop(), STALLED_MS);
  let stalled = giveUp();
  let seen = 0;
  try {
    for await (const message of messages) {
      clearTimeout(stalled);
      yield message;
      stalled = giveUp();
      seen = message.seq;
      // Not when nothing is pending: the server that reads may be behind the others, as after a start.
      if (seen >= lastSeq) return;
    }
  } finally {
    clearTimeout(stalled);
    messages.stop();
    await consumer.delete().catch(() => false);
  }
  // What was the last message may have been deleted since.
  if ((await untilReady(() => lastSeqOf(nc, stream, filter))) > seen)
    throw new OperatorError(
      'The servers stopped answering before everything was read. Check that they are running, and try again.',
    );
}

/** @returns the number of the last message, as the leader has it; 0: there is none. */
async function lastSeqOf(nc: NatsConnection, stream: string, filter: string): Promise<number> {
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  try {
    return (await jsm.streams.getMessage(stream, { last_by_subj: filter }))?.seq ?? 0;
  } catch (error) {
    if (codeOf(error) !== CODE.noStream) throw error;
    throw new OperatorError(`The servers have no stream ${stream}. Create it with "courtd fleet init URL".`);
  }
}
