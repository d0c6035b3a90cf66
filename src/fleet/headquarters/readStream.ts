import { DeliverPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { CODE, codeOf } from '../nats/faults.ts';
import { untilReady } from './withHeadquarters.ts';

/** Messages in flight: a chunk is at most half a megabyte. */
const AHEAD = 32;
/** A pull that is not answered is renewed after twice this. */
const HEARTBEAT_MS = 5_000;
/** Gives up after this long without an answer. */
const STALLED_MS = 60_000;

/**
 * Reads a stream in order, from its first message to the last one that was there when it began. Lost connections and
 * elections are passed over; no message is left out or given twice.
 * @param filter only these subjects: with ">" nats-server 2.15 finds none if the last message of the stream was deleted.
 * @param isLast only the last message of each subject.
 * @throws {OperatorError} if there is no such stream, or its servers stop answering.
 */
export async function* readStream(
  nc: NatsConnection,
  stream: string,
  filter: string,
  isLast = false,
): AsyncGenerator<JsMsg> {
  const lastSeq = await untilReady(() => lastSeqOf(nc, stream, filter));
  if (lastSeq === 0) return;
  const deliver_policy = isLast ? DeliverPolicy.LastPerSubject : DeliverPolicy.All;
  const wanted = { filter_subjects: filter, deliver_policy };
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
  // The last message may have been deleted since.
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
