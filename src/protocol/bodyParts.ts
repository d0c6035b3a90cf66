import { isUtf8 } from 'node:buffer';
import { JsonError } from './jsonLexer.ts';
import { JsonReader } from './jsonReader.ts';
import { readEvent } from './sentEvent.ts';

/** Events that a body is parted into at most: 8 MiB hold 45,000 of the smallest valid ones. */
const PARTS_MAX = 100_000;
/** Far beyond the limits of an event, so that one that exceeds them can be corrected; the depth is that of the reader's stack. */
const LIMITS = { depth: 1_000, values: Number.POSITIVE_INFINITY } as const;

/** An event of a refused body, and perhaps not a valid one. */
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
  try {
    return readParts(body);
  } catch (error) {
    if (error instanceof JsonError) return [{ index: 0, bytes: body, isJson: false, sent: undefined }];
    throw error;
  }
}

/** @throws {JsonError} if none of its events is JSON. */
function readParts(body: Buffer): BodyPart[] {
  const json = new JsonReader(body, LIMITS);
  const parts: BodyPart[] = [];
  const read = () => {
    if (parts.length === PARTS_MAX) throw new JsonError('values', json.at);
    const from = json.at;
    let sent: unknown;
    let isJson = true;
    try {
      sent = readEvent(json).sent;
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      isJson = false;
      json.skipBroken(from);
    }
    const bytes = body.subarray(from, json.at);
    isJson &&= isUtf8(bytes);
    parts.push({ index: parts.length, bytes, isJson, sent });
  };
  json.skipSpaces();
  // The end of an array may have been cut off.
  if (json.isAtArray)
    for (let more = json.aroundEvents().enterArray(); more; more = !json.isAtEnd && json.nextElement())
      read();
  else if (json.isAtObject) read();
  json.skipSpaces();
  if (!json.isAtEnd || !parts.some(({ isJson }) => isJson)) throw new JsonError('syntax', json.at);
  return parts;
}
