import { isUtf8 } from 'node:buffer';
import { isName } from './event.ts';
import { JsonError } from './jsonLexer.ts';
import { JsonReader } from './jsonReader.ts';
import { readEvent } from './sentEvent.ts';

/**
 * Events that a body is parted into at most: 8 MiB hold 45,000 of the smallest valid ones. Of an array of four million numbers there
 * is nothing to mend.
 */
const PARTS_MAX = 100_000;
/** Far beyond what an event may have, so that one that has too much can be mended; the depth is that of the reader's stack. */
const LIMITS = { depth: 1_000, values: Number.POSITIVE_INFINITY } as const;

/** An event of a refused body: valid JSON, and perhaps not a valid event. */
export interface BodyPart {
  /** From 0 on, as in the answer to the request. */
  readonly index: number;
  /** As it was sent: a part of the body's bytes. */
  readonly text: Buffer;
  /** Undefined if it cannot be read. */
  readonly key: EventKey | undefined;
}

/** What an event is known by (spec 2.3). */
export interface EventKey {
  readonly sessionId: string;
  readonly eventId: string;
  readonly revision: number;
}

/**
 * Parts a body into its events, whatever is wrong with each.
 * @param body decompressed.
 * @returns undefined if it cannot be parted: it is not JSON, or not an object or array.
 */
export function bodyParts(body: Buffer): BodyPart[] | undefined {
  if (!isUtf8(body)) return undefined;
  try {
    return readParts(body);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** @throws {JsonError} */
function readParts(body: Buffer): BodyPart[] {
  const json = new JsonReader(body, LIMITS);
  const parts: BodyPart[] = [];
  const read = () => {
    if (parts.length === PARTS_MAX) throw new JsonError('values', json.at);
    const from = json.at;
    const { sent } = readEvent(json);
    parts.push({ index: parts.length, text: body.subarray(from, json.at), key: keyOf(sent) });
  };
  json.skipSpaces();
  if (json.isAtArray) for (let more = json.enterBatch(); more; more = json.nextElement()) read();
  else if (json.isAtObject) read();
  json.skipSpaces();
  if (parts.length === 0 || !json.isAtEnd) throw new JsonError('syntax', json.at);
  return parts;
}

/** @returns undefined if a part of the key is missing or invalid: that may be the fault to correct. */
function keyOf(sent: unknown): EventKey | undefined {
  const { session_id, event_id, revision } = (sent ?? {}) as Record<string, unknown>;
  const number = revision ?? 0;
  const isValid = (name: unknown): name is string => typeof name === 'string' && isName(name);
  if (!isValid(session_id) || !isValid(event_id) || !Number.isSafeInteger(number)) return undefined;
  return { sessionId: session_id, eventId: event_id, revision: number as number };
}
