import { JsonReader } from './jsonReader.ts';
import { readBody, readEvent } from './sentEvent.ts';

/** Events that a body is parted into at most: 8 MiB hold 45,000 of the smallest valid ones. */
const PARTS_MAX = 100_000;

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
  const json = new JsonReader(body);
  const parts: BodyPart[] = [];
  readBody(json, () => {
    if (parts.length === PARTS_MAX) throw json.syntaxError();
    const from = json.at;
    const { sent, fault } = readEvent(json);
    const isJson = fault === undefined || (fault.code === 'too_deep' && fault === json.fault);
    parts.push({ index: parts.length, bytes: body.subarray(from, json.at), isJson, sent });
  });
  // The end of an array may have been cut off.
  const isParted = json.peek() === '' && parts.some(({ isJson }) => isJson);
  return isParted ? parts : [{ index: 0, bytes: body, isJson: false, sent: undefined }];
}
