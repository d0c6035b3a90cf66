import { BATCH_EVENTS, BODY_BYTES, LINE_BYTES } from '../../base/limits.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem } from '../../protocol/errors.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import { JsonError } from '../../protocol/jsonLexer.ts';
import { JsonReader } from '../../protocol/jsonReader.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { OTHER_FORMAT, readUnpacked, UnreadableFile } from './fileBytes.ts';

const [LINE_FEED, OPEN_ARRAY] = [0x0a, 0x5b];
const SPACES = new Set(Buffer.from(' \t\r'));
/** What `export`, `tail --json`, `fleet tail` and `rejections export` write around an event. */
const AROUND = ['box', 'epoch', 'seq', 'received_at', 'erased', 'late', 'request_id', 'index', 'faults'];

/** What is wrong with a file, and where. */
export class FileFault extends Error {
  /** From 1 on; null where nothing of it can be read. */
  readonly line: number | null;

  constructor(line: number | null, message: string) {
    super(message);
    this.line = line;
  }
}

/** A line of a file, without its end; numbered from 1 on. Where it has been decoded: its event alone. */
export interface FileLine {
  readonly text: Buffer;
  readonly number: number;
  /** Where it has been refused before. */
  readonly refused?: RefusedPlace | undefined;
}

/** An event of a refused request. */
interface RefusedPlace {
  readonly requestId: string;
  /** From 0 on. */
  readonly index: number;
}

export interface FileBatch {
  readonly events: readonly CourtEvent[];
  /** The place of each of them. */
  readonly lines: readonly FileLine[];
}

/** How large a batch may be. An event that is larger is a batch of its own. */
export interface BatchLimits {
  readonly events: number;
  readonly bytes: number;
}

/** As large as a request may be. */
export const REQUEST_LIMITS: BatchLimits = { events: BATCH_EVENTS, bytes: BODY_BYTES };

interface ReadOptions {
  readonly limits: BatchLimits;
  readonly rules: EventRules;
  /** Takes the fault of a line, which is left out; absent: it is thrown. */
  readonly onFault?: ((fault: FileFault) => void) | undefined;
}

/**
 * Reads a file of one event a line; empty lines count and hold none. Each line is what a request with one event would be.
 * @yields batches that are as large as they may be.
 * @throws {FileFault} Of the batch that it is in, nothing has been given.
 */
export async function* readBatches(
  file: string,
  { limits, rules, onFault }: ReadOptions,
  onRead: (bytes: number) => void,
): AsyncGenerator<FileBatch> {
  let [events, lines]: [CourtEvent[], FileLine[]] = [[], []];
  let bytes = 0;
  for await (const line of linesOf(file, onRead)) {
    let decoded: ReturnType<typeof decodeLine>;
    try {
      decoded = decodeLine(unmarked(line), rules);
    } catch (error) {
      if (onFault === undefined || !(error instanceof FileFault)) throw error;
      onFault(error);
      continue;
    }
    if (decoded === undefined) continue;
    // Each with its line end.
    const added = decoded.line.text.length + 1;
    if (events.length === limits.events || (events.length > 0 && bytes + added > limits.bytes)) {
      yield { events, lines };
      [events, lines, bytes] = [[], [], 0];
    }
    events.push(decoded.event);
    lines.push(decoded.line);
    bytes += added;
  }
  if (events.length > 0) yield { events, lines };
}

async function* linesOf(file: string, onRead: (bytes: number) => void): AsyncGenerator<FileLine> {
  let parts: Buffer[] = [];
  let [bytes, number] = [0, 1];
  try {
    for await (const piece of readUnpacked(file, onRead)) {
      for (let from = 0; ; ) {
        const end = piece.indexOf(LINE_FEED, from);
        const part = piece.subarray(from, end < 0 ? piece.length : end);
        parts.push(part);
        bytes += part.length;
        if (bytes > LINE_BYTES) throw tooLong(number);
        if (end < 0) break;
        yield { text: Buffer.concat(parts), number: number++ };
        [parts, bytes] = [[], 0];
        from = end + 1;
      }
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw new FileFault(number === 1 && bytes === 0 ? null : number, error.message);
  }
  if (bytes > 0) yield { text: Buffer.concat(parts), number };
}

/** What an export marks an erased event with, as its first member, is no part of it: a camera's own field stands behind the ids there. */
const MARK = /^\s*\{\s*"erased"\s*:\s*true\s*,(?=\s*"event_id")/;
const MARK_BYTES = 64;

function unmarked(line: FileLine): FileLine {
  const mark = MARK.exec(line.text.toString('latin1', 0, MARK_BYTES));
  if (mark === null) return line;
  return { ...line, text: Buffer.concat([Buffer.from('{'), line.text.subarray(mark[0].length)]) };
}

/**
 * What stands around the event in an export is dropped: the time of receipt is that of this box.
 * @returns undefined for an empty line.
 */
function decodeLine(line: FileLine, rules: EventRules): { event: CourtEvent; line: FileLine } | undefined {
  const { text, number } = line;
  const first = text.find((byte) => !SPACES.has(byte));
  if (first === undefined) return undefined;
  if (first === OPEN_ARRAY) {
    throw new FileFault(number, 'the line is an array: put each event on a line of its own.');
  }
  const whole = decode(text, rules);
  if (!(whole instanceof Problem)) return alone(whole, line);
  // An event may have fields of these names in front: it was tried as it stands.
  const inner = whole.code === 'invalid_json' ? undefined : innerEvent(text);
  if (inner === 'body')
    throw new FileFault(
      number,
      'the line is a body that could not be parted into events: replace it by them.',
    );
  const found = inner === undefined ? whole : decode(inner.text, rules);
  if (!(found instanceof Problem)) return alone(found, { ...inner!, number });
  // Then what follows the event belongs to the line, and the fault is that of the line.
  const sentence = sentenceOf(found.code === 'invalid_json' ? whole : found);
  throw new FileFault(
    number,
    number === 1 && whole.code === 'invalid_json' ? `${sentence} ${OTHER_FORMAT}` : sentence,
  );
}

/** @throws {FileFault} where the event itself is too large. */
function alone(event: CourtEvent, line: FileLine): { event: CourtEvent; line: FileLine } {
  if (line.text.length > BODY_BYTES) throw tooLong(line.number);
  return { event, line };
}

function tooLong(line: number): FileFault {
  return new FileFault(line, `the line is longer than ${BODY_BYTES} bytes: no event may be so large.`);
}

function decode(text: Buffer, rules: EventRules): CourtEvent | Problem {
  try {
    return decodeBatch(text, rules)[0]!;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/**
 * @returns the event in a line of an export that has more than events; 'body' for one that has a body in its place; undefined where it
 * is none of them.
 */
function innerEvent(text: Buffer): Pick<FileLine, 'text' | 'refused'> | 'body' | undefined {
  const around: Record<string, unknown> = {};
  let event: Buffer | undefined;
  let hasBody = false;
  try {
    const json = new JsonReader(text);
    json.skipSpaces();
    if (!json.isAtObject) return undefined;
    for (let more = json.enterAround(); more; more = json.nextMember()) {
      const { name, at, isAtObject } = json;
      const value = json.read();
      if (name === 'event' && isAtObject) event = text.subarray(at, json.at);
      else if (name === 'body') hasBody = true;
      else if (AROUND.includes(name)) around[name] = value;
      else return undefined;
    }
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
  const { request_id: requestId, index } = around;
  if (event === undefined) return hasBody && requestId !== undefined ? 'body' : undefined;
  const isRefused = typeof requestId === 'string' && typeof index === 'number';
  return { text: event, refused: isRefused ? { requestId, index } : undefined };
}

/** @returns for a line, the sentence that a client would get for a body. */
export function sentenceOf({ message, members }: Pick<Problem, 'message' | 'members'>): string {
  const { details = [], details_total = details.length } = members;
  if (details.length === 0) {
    return message
      .replace(/^The body/, 'the line')
      .replace(/^(The|One) event/, 'the event')
      .replace(/ or an array of events\.$/, '.')
      .replace(/ Send one array of events.*$/, ' Put each event on a line of its own.')
      .replace(/ Nothing was stored\.$/, '');
  }
  const faults = details.map(({ path, message }) => (path === '' ? `it ${message}` : `${path} ${message}`));
  const more = details_total - details.length;
  return `the event is invalid: ${faults.join('; ')}${more > 0 ? `; and ${more} more faults` : ''}.`;
}
