import { BODY_BYTES } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { splitLines } from '../../base/splitLines.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { JsonError, Problem } from '../../protocol/errors.ts';
import { JsonReader } from '../../protocol/jsonReader.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { FileFault, readUnpacked } from './fileBytes.ts';

const OPEN_ARRAY = 0x5b;
const SPACES = new Set(Buffer.from(' \t\r'));
/** What `export`, `tail --json`, `fleet tail` and `rejections export` write around an event. */
const AROUND = ['box', 'epoch', 'seq', 'received_at', 'erased', 'late', 'request_id', 'index', 'faults'];
/** How an export begins the line of an erased event. The mark is no part of the event. */
const MARKED = '{"erased":true,"event_id":';
const EVENT_ID = '{"event_id":';

/** An event of a file. */
export interface FileEvent {
  /** Its JSON text alone. */
  readonly text: Buffer;
  /** The number of its line, from 1 on. */
  readonly line: number;
}

/**
 * Reads a file of one event per line; empty lines count and hold none. Each is what a request with one event would be.
 * @yields each event, and each fault in its place.
 */
export async function* readEvents(file: string, rules: EventRules): AsyncGenerator<FileEvent | FileFault> {
  let read = 0;
  try {
    for await (const { bytes, number } of splitLines(readUnpacked(file))) {
      read = number;
      if (!bytes.every((byte) => SPACES.has(byte))) yield eventOf(bytes, number, rules);
    }
  } catch (error) {
    if (error instanceof OperatorError) yield tooLong(read + 1);
    else if (error instanceof FileFault) yield new FileFault(read === 0 ? null : read + 1, error.message);
    else throw error;
  }
}

/** @returns the event of a line, without what an export writes around it. */
function eventOf(bytes: Buffer, line: number, rules: EventRules): FileEvent | FileFault {
  const isMarked = bytes.toString('latin1', 0, MARKED.length) === MARKED;
  const text = isMarked
    ? Buffer.concat([Buffer.from(EVENT_ID), bytes.subarray(MARKED.length)])
    : (innerEvent(bytes) ?? bytes);
  if (text === 'body')
    return new FileFault(line, 'the body is not a list of events. Replace it by its events.');
  if (text.length > BODY_BYTES) return tooLong(line);
  if (text.find((byte) => !SPACES.has(byte)) === OPEN_ARRAY)
    return new FileFault(line, 'the line is an array: put each event on a line of its own.');
  try {
    decodeBatch(text, rules);
    return { text, line };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const isOther = line === 1 && error.code === 'invalid_json';
    return new FileFault(line, `${sentenceOf(error)}${isOther ? ` ${OTHER_FORMAT}` : ''}`);
  }
}

/** A workbook and Parquet are no JSON either, and an export is CSV unless it is asked for something else. */
const OTHER_FORMAT = 'Files of events are NDJSON, such as an export with --format ndjson.';

function tooLong(line: number): FileFault {
  return new FileFault(line, `the line is longer than ${BODY_BYTES} bytes: no event may be so large.`);
}

/** @returns the event in a line that has more; 'body' for a line of `rejections export` with a body; undefined for any other line. */
function innerEvent(text: Buffer): Buffer | 'body' | undefined {
  let event: Buffer | 'body' | undefined;
  try {
    const json = new JsonReader(text);
    json.skipSpaces();
    if (json.peek() !== '{') return undefined;
    for (json.enter('{'); json.nextMember(); ) {
      const [name, at, next] = [json.name, json.at, json.peek()];
      json.skip();
      if (name === 'event' && next === '{') event = text.subarray(at, json.at);
      else if (name === 'body') event ??= 'body';
      else if (!AROUND.includes(name)) throw json.syntaxError();
    }
    json.skipSpaces();
    return json.peek() === '' ? event : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** @returns for a line, the sentence that a client would get for a body. */
function sentenceOf({ message, members }: Problem): string {
  const { details = [] } = members;
  const faults = details.map(({ path, message }) => (path === '' ? `it ${message}` : `${path} ${message}`));
  if (faults.length > 0) return `the event is invalid: ${faults.join('; ')}.`;
  return message
    .replace(/^The body/, 'the line')
    .replace(/^The event/, 'the event')
    .replace(/ or an array of events\.$/, '.')
    .replace(/ Send one array of events.*$/, ' Put each event on a line of its own.');
}
