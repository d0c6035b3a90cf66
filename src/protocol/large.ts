import { PARSED_HERE_BYTES, PIECE_CHARS } from './limits.ts';
import {
  compact,
  membersOf,
  nameAndValue,
  parseBoth,
  parseMembers,
  piecesOf,
  type Reading,
  trim,
} from './pieces.ts';
import { type Checked, Sketch, sentOf } from './sketch.ts';
import { ENVELOPE_FIELDS, PAYLOAD_FIELDS } from './wire.ts';

/** What is kept of an event beside its envelope. */
export interface KeptTexts {
  /** JSON text. */
  readonly payload: string;
  /** JSON text of an object of the envelope's unknown fields; null where there are none. */
  readonly extra: string | null;
}

/** One event of a large body: what is checked as values, and the rest as the text that is kept. */
export interface Outline extends KeptTexts, Checked {}

/** @param kept an event as it was sent, digit for digit (json.ts). */
export function keptTexts(kept: unknown): KeptTexts {
  const event = Object(kept) as Record<string, unknown>;
  let extra: Record<string, unknown> | undefined;
  for (const name of Object.keys(event)) {
    if (ENVELOPE_FIELDS.has(name)) continue;
    // No prototype, or a field called __proto__ would vanish into it.
    extra ??= Object.create(null) as Record<string, unknown>;
    extra[name] = event[name];
  }
  return {
    payload: JSON.stringify(event.payload),
    extra: extra === undefined ? null : JSON.stringify(extra),
  };
}

/**
 * The events of a body whose values would take too much memory, one after the other.
 * @param text with no space around it.
 * @throws {SyntaxError} where it is not JSON.
 */
export function* outlinesOf(text: string, reading: Reading): Generator<Outline> {
  if (text[0] !== '[') {
    yield outlineOf(text, reading);
    return;
  }
  for (const [from, to] of membersOf(text)) yield outlineOf(trim(text.slice(from, to)), reading);
}

function outlineOf(text: string, reading: Reading): Outline {
  // As large as a body that is parsed at once: an event is kept as the same text whatever it was sent with.
  if (text.length <= PARSED_HERE_BYTES) {
    const { sent, kept } = parseBoth(text, reading);
    return { sent, unlisted: 0, ...keptTexts(kept) };
  }
  if (text[0] !== '{') {
    const event = compact(text, reading);
    return { sent: sentOf(event), unlisted: event.unlisted, ...keptTexts({}) };
  }
  const sketch = new Sketch(ENVELOPE_FIELDS);
  let payload = '{}';
  const extras: string[] = [];
  for (const members of piecesOf(text)) {
    if (members.length <= PIECE_CHARS) {
      const { sent, kept } = parseMembers('{', members, reading);
      sketch.addAll(sent, reading.inexact);
      const texts = keptTexts(kept);
      if (Object.hasOwn(kept, 'payload')) payload = texts.payload;
      if (texts.extra !== null) extras.push(texts.extra.slice(1, -1));
    } else {
      const { name, value } = nameAndValue(members);
      const member = compact(value, reading, name === 'payload' ? PAYLOAD_FIELDS : undefined);
      sketch.add(name, member);
      if (name === 'payload') payload = member.text;
      else if (!ENVELOPE_FIELDS.has(name)) extras.push(`${JSON.stringify(name)}:${member.text}`);
    }
  }
  const { sent, unlisted } = sketch;
  return { sent, unlisted, payload, extra: extras.length === 0 ? null : `{${extras.join(',')}}` };
}
