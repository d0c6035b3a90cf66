import { BODY_BYTES } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { type Line, splitLines } from '../../base/splitLines.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem } from '../../protocol/errors.ts';
import { JsonError } from '../../protocol/jsonLexer.ts';
import { JsonReader } from '../../protocol/jsonReader.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { OTHER_FORMAT, readUnpacked, UnreadableFile } from './fileBytes.ts';

const OPEN_ARRAY = 0x5b;
const SPACES = new Set(Buffer.from(' \t\r'));
/** What `export`, `tail --json`, `fleet tail` and `rejections export` write around an event. */
const AROUND = ['box', 'epoch', 'seq', 'received_at', 'erased', 'late', 'request_id', 'index', 'faults'];

/** A fault of a file, and its line. */
export class FileFault extends Error {
  /** From 1 on; null if the file cannot be read at all. */
  readonly line: number | null;

  constructor(line: number | null, message: string) {
    super(message);
    this.line = line;
  }
}

/** An event of a file. */
export interface FileEvent {
  /** Its JSON text alone. */
  readonly text: Buffer;
  /** The number of its line, from 1 on. */
  readonly line: number;
}

/**
 * Reads a file of one event per line; empty lines count and hold none. Each is what a request with one event would be.
 * @param onFault takes the fault of a line, which is left out; absent: it is thrown.
 * @throws {FileFault}
 */
export async function* readEvents(
  file: string,
  rules: EventRules,
  onFault: (fault: FileFault) => void = (fault) => {
    throw fault;
  },
): AsyncGenerator<FileEvent> {
  for await (const { bytes, number } of linesOf(file)) {
    try {
      const event = eventIn(unmarked(bytes), number, rules);
      if (event !== undefined) yield { text: event, line: number };
    } catch (error) {
      if (!(error instanceof FileFault)) throw error;
      onFault(error);
    }
  }
}

/** @throws {FileFault} for what ends the file too early. */
async function* linesOf(file: string): AsyncGenerator<Line> {
  let read = 0;
  try {
    for await (const line of splitLines(readUnpacked(file))) {
      read = line.number;
      yield line;
    }
  } catch (error) {
    if (error instanceof OperatorError) throw tooLong(read + 1);
    if (!(error instanceof UnreadableFile)) throw error;
    throw new FileFault(read === 0 ? null : read + 1, error.message);
  }
}

/** The mark of an erased event, the first member of an exported line, is no part of the event: a camera's own field follows the ids. */
const MARK = /^\s*\{\s*"erased"\s*:\s*true\s*,(?=\s*"event_id")/;
const MARK_BYTES = 64;

function unmarked(text: Buffer): Buffer {
  const mark = MARK.exec(text.toString('latin1', 0, MARK_BYTES));
  return mark === null ? text : Buffer.concat([Buffer.from('{'), text.subarray(mark[0].length)]);
}

/** @returns the event of a line, without what an export writes around it; undefined for an empty line. @throws {FileFault} */
function eventIn(text: Buffer, number: number, rules: EventRules): Buffer | undefined {
  const first = text.find((byte) => !SPACES.has(byte));
  if (first === undefined) return undefined;
  if (first === OPEN_ARRAY)
    throw new FileFault(number, 'the line is an array: put each event on a line of its own.');
  const event = innerEvent(text) ?? text;
  if (event === 'body')
    throw new FileFault(number, 'the line is a body that is no list of events: replace it by its events.');
  if (event.length > BODY_BYTES) throw tooLong(number);
  try {
    decodeBatch(event, rules);
    return event;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const isOther = number === 1 && error.code === 'invalid_json';
    throw new FileFault(number, `${sentenceOf(error)}${isOther ? ` ${OTHER_FORMAT}` : ''}`);
  }
}

function tooLong(line: number): FileFault {
  return new FileFault(line, `the line is longer than ${BODY_BYTES} bytes: no event may be so large.`);
}

/** @returns the event in a line that has more; 'body' for a line of `rejections export` with a body; undefined for any other line. */
function innerEvent(text: Buffer): Buffer | 'body' | undefined {
  let event: Buffer | 'body' | undefined;
  try {
    const json = new JsonReader(text);
    json.skipSpaces();
    if (!json.isAtObject) return undefined;
    for (let more = json.aroundEvents().enterObject(); more; more = json.nextMember()) {
      const { name, at, isAtObject } = json;
      json.read();
      if (name === 'event' && isAtObject) event = text.subarray(at, json.at);
      else if (name === 'body') event ??= 'body';
      else if (!AROUND.includes(name)) return undefined;
    }
    return text.subarray(json.at).every((byte) => SPACES.has(byte)) ? event : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** @returns for a line, the sentence that a client would get for a body. */
export function sentenceOf({ message, members }: Pick<Problem, 'message' | 'members'>): string {
  const { details = [] } = members;
  const faults = details.map(({ path, message }) => (path === '' ? `it ${message}` : `${path} ${message}`));
  if (faults.length > 0) return `the event is invalid: ${faults.join('; ')}.`;
  return message
    .replace(/^The body/, 'the line')
    .replace(/^(The|One) event/, 'the event')
    .replace(/ or an array of events\.$/, '.')
    .replace(/ Send one array of events.*$/, ' Put each event on a line of its own.')
    .replace(/ Nothing was stored\.$/, '');
}
