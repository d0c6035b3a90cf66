import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { linesOf, seqOf } from '../log/chunk.ts';
import { chunkHead, STREAM, sha256Of, sourceOf, subjectOf } from '../nats/fleetLog.ts';
import { readStream } from './readStream.ts';

/** Which events, of all that headquarters has. */
interface EventSelection {
  /** Absent: every box. */
  readonly box?: string | undefined;
  /** Only those with a larger seq of their box. */
  readonly after: number;
  /** Goes on with those that come. */
  readonly follow: boolean;
}

/**
 * @yields the events of a chunk, in the order of its log: each as `courtd tail --json` prints it, with the box and the epoch that it
 * is of, and its line end.
 * @throws {OperatorError} where a chunk is damaged.
 */
export async function* readEvents(
  nc: NatsConnection,
  { box, after, follow }: EventSelection,
): AsyncGenerator<string[]> {
  const filter = box && subjectOf(box, '*');
  for await (const { subject, seq, headers, data } of readStream(nc, { stream: STREAM, filter, follow })) {
    const head = chunkHead(headers);
    if (head === undefined || sha256Of(data) !== head.sha256) {
      throw new OperatorError(
        `Message ${seq} of ${STREAM} (${subject}) is no chunk, or is damaged. "courtd fleet check" tells what is broken.`,
      );
    }
    if (head.last > after) yield eventLines(subject, data, after);
  }
}

function eventLines(subject: string, data: Uint8Array, after: number): string[] {
  const { box, epoch } = sourceOf(subject);
  const start = `{"box":${JSON.stringify(box)},"epoch":${JSON.stringify(epoch)},`;
  return linesOf(data)
    .filter((line) => seqOf(line) > after)
    .map((line) => `${start}${line.slice(1)}`);
}
