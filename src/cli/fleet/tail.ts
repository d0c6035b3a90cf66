import { OperatorError } from '../../base/operatorError.ts';
import { readStream } from '../../fleet/headquarters/readStream.ts';
import { linesOf, seqOf } from '../../fleet/log/chunk.ts';
import { chunkHead, STREAM, sha256Of, sourceOf, subjectOf } from '../../fleet/nats/fleetLog.ts';
import { LineOutput } from '../terminal/lineOutput.ts';
import { type FleetOptions, withHeadquarters } from './headquarters.ts';

export interface TailOptions extends FleetOptions {
  readonly box?: string;
  readonly after?: number;
  readonly follow?: boolean;
}

/** `courtd fleet tail`: ends when it has given what was there when it began, or never. */
export function tail(url: string, options: TailOptions): Promise<void> {
  const { box, after = 0, follow = false } = options;
  const filter = box && subjectOf(box, '*');
  const print = async (nc: Parameters<typeof readStream>[0]) => {
    const output = new LineOutput();
    for await (const { subject, seq, headers, data } of readStream(nc, {
      stream: STREAM,
      filter,
      follow,
    })) {
      const head = chunkHead(headers);
      if (head === undefined || sha256Of(data) !== head.sha256) {
        throw new OperatorError(
          `Message ${seq} of ${STREAM} (${subject}) is no chunk, or is damaged. "courtd fleet check" tells what is broken.`,
        );
      }
      if (head.last > after) await output.write(eventLines(subject, data, after));
    }
  };
  return withHeadquarters(url, options, print, follow);
}

/** @returns each event as `courtd tail --json` prints it, with the box and the epoch that it is of. */
function eventLines(subject: string, data: Uint8Array, after: number): string[] {
  const { box, epoch } = sourceOf(subject);
  const start = `{"box":${JSON.stringify(box)},"epoch":${JSON.stringify(epoch)},`;
  return linesOf(data)
    .filter((line) => seqOf(line) > after)
    .map((line) => `${start}${line.slice(1)}\n`);
}
