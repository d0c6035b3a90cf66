import { isUtf8 } from 'node:buffer';
import { JsonError, JsonReader } from './jsonReader.ts';
import { readElement } from './sentEvent.ts';

/** Events that a body is parted into at most: 8 MiB hold 45,000 of the smallest valid ones. */
const PARTS_MAX = 100_000;
/** Far beyond the limits of an event, so that one that exceeds them can be corrected; the depth is that of the reader's stack. */
const LIMITS = { depth: 1_000, values: Number.POSITIVE_INFINITY } as const;

/** An event of a rejected body, and perhaps not a valid one. */
export interface BodyPart {
  /** From 0 on, as in the answer to the request. */
  readonly index: number;
  /** As it was sent: a part of the body's bytes. */
  readonly bytes: Buffer;
  /** If not, `bytes` are no event. */
  readonly isJson: boolean;
  /** The members that the protocol defines (sentEvent.ts). */
  readonly sent: unknown;
}

/**
 * Parts a body into its events, whatever is wrong with each; a body that is no list of events is one part.
 * @param body decompressed.
 */
export function bodyParts(body: Buffer): BodyPart[] {
  const json = new JsonReader(body, LIMITS);
  const parts: BodyPart[] = [];
  const read = () => {
    if (parts.length === PARTS_MAX) throw new JsonError('values', json.at);
    const from = json.at;
    const { event, error } = readElement(json);
    const bytes = body.subarray(from, json.at);
    parts.push({ index: parts.length, bytes, isJson: !error && isUtf8(bytes), sent: event.sent });
  };
  try {
    json.skipSpaces();
    if (json.isAtArray) json.aroundEvents().array(read);
    else if (json.isAtObject) read();
    json.skipSpaces();
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  // The end of an array may have been cut off.
  const isParted = json.isAtEnd && parts.some(({ isJson }) => isJson);
  return isParted ? parts : [{ index: 0, bytes: body, isJson: false, sent: undefined }];
}
