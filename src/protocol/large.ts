import { parseExact } from './json.ts';
import { PIECE_CHARS } from './limits.ts';
import { compact, membersOf, nameAndValue, parseSent, type Reading, trim } from './pieces.ts';
import { ENVELOPE_FIELDS, PAYLOAD_FIELDS } from './wire.ts';

/** What is kept of an event beside its envelope. */
export interface KeptTexts {
  /** JSON text. */
  readonly payload: string;
  /** JSON text of an object of the envelope's unknown fields; null where there are none. */
  readonly extra: string | null;
}

/** One event of a large body: what is checked as values, and the rest as the text that is kept. */
export interface Outline extends KeptTexts {
  /** The event for the schema: its envelope, and what the protocol names of its payload. */
  readonly sent: unknown;
}

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
  if (text.length <= PIECE_CHARS) {
    const sent = parseSent(text, reading);
    return { sent, ...keptTexts(reading.inexact ? parseExact(text) : sent) };
  }
  if (text[0] !== '{') return { sent: standIn(text, reading), ...keptTexts({}) };
  const { sent, texts } = fieldsOf(text, ENVELOPE_FIELDS, reading);
  const payload = texts.get('payload') ?? '{}';
  for (const name of ENVELOPE_FIELDS) texts.delete(name);
  return { sent, payload, extra: texts.size === 0 ? null : objectText(texts) };
}

/** The fields of an object: those that are known as values, and all of them as text. */
function fieldsOf(text: string, known: ReadonlySet<string>, reading: Reading) {
  // No prototype, or a field called __proto__ would vanish into it.
  const sent: Record<string, unknown> = Object.create(null);
  const texts = new Map<string, string>();
  for (const [from, to] of membersOf(text)) {
    const { name, value } = nameAndValue(text.slice(from, to));
    if (known === ENVELOPE_FIELDS && name === 'payload' && value[0] === '{') {
      const payload = fieldsOf(value, PAYLOAD_FIELDS, reading);
      sent[name] = payload.sent;
      texts.set(name, objectText(payload.texts));
    } else {
      const { text, isInfinite } = compact(value, reading);
      texts.set(name, text);
      // Of duplicate members the last one wins.
      if (isInfinite) sent[name] = Number.POSITIVE_INFINITY;
      else if (known.has(name)) sent[name] = standIn(value, reading);
      else delete sent[name];
    }
  }
  return { sent, texts };
}

/** @returns its value; of a large list, which is wrong wherever one of these stands, an empty one. */
function standIn(text: string, reading: Reading): unknown {
  const isLarge = text.length > PIECE_CHARS && (text[0] === '[' || text[0] === '{');
  if (!isLarge) return parseSent(text, reading);
  compact(text, reading);
  return text[0] === '[' ? [] : {};
}

function objectText(texts: ReadonlyMap<string, string>): string {
  return `{${Array.from(texts, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}
