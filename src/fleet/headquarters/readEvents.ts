import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { type Chunk, readChunk, seqOf } from '../log/chunk.ts';
import { STREAM, sourceOf, subjectOf } from '../log/fleetLog.ts';
import { readStream } from './readStream.ts';

/**
 * Reads the log of each box, and verifies each chunk: its SHA-256, its count, and that it begins where the one before it ended.
 * @param box absent: every box. @param after only events with a larger seq of their box.
 * @yields the events of a chunk, in the order of the log: each as `courtd tail --json` prints it, with the box and the epoch in
 * front, and its line end.
 * @throws {OperatorError} at the first chunk that is damaged or does not follow the one before it.
 */
export async function* readEvents(
  nc: NatsConnection,
  box: string | undefined,
  after: number,
): AsyncGenerator<string[]> {
  const ends: Ends = new Map();
  for await (const { subject, seq, headers, data } of readStream(nc, STREAM, subjectOf(box ?? '*', '*'))) {
    const source = sourceOf(subject);
    const chunk = readChunk(data, headers);
    if (typeof chunk === 'string')
      throw new OperatorError(
        `Message ${seq} of ${STREAM} (box ${source.box}) is damaged: ${chunk}. Restore the servers from a backup, or delete the message ("nats stream rmm ${STREAM} ${seq}") and read on with --after.`,
      );
    const end = follow(ends, source, chunk);
    // Before --after nobody asked whether the log is whole.
    if (end !== undefined && chunk.after > after)
      throw new OperatorError(
        `The log of box ${source.box} has a hole: it ends at seq ${end}, and message ${seq} of ${STREAM} continues after seq ${chunk.after}. If the message between was deleted, read on with --box ${source.box} --after ${chunk.after}.`,
      );
    const start = JSON.stringify(source).slice(0, -1);
    const wanted = chunk.lines.filter((line) => seqOf(line) > after);
    if (wanted.length > 0) yield wanted.map((line) => `${start},${line.slice(1)}`);
  }
}

/** Up to where each log has been read: by box and epoch; and by box the highest seq of all its epochs. */
type Ends = Map<string, number>;

/** @returns the seq at which the log ended, if the chunk does not continue it; undefined: it does. */
function follow(ends: Ends, { box, epoch }: ReturnType<typeof sourceOf>, { after, last }: Chunk) {
  const key = `${box}.${epoch}`;
  const [end, highest] = [ends.get(key), ends.get(box) ?? 0];
  ends.set(key, last).set(box, Math.max(highest, last));
  // A new epoch begins after the events that headquarters had, or, after a restore, after those of them in the backup.
  const isNext = end === undefined ? after <= highest : after === end;
  return isNext ? undefined : (end ?? highest);
}
