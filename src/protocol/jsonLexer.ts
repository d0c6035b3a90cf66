import { isAscii } from 'node:buffer';

/** The tokens of JSON text (RFC 8259): strings, numbers, literals and the white space between them. Offsets are in bytes. */

const [QUOTE, BACKSLASH, COMMA, PLUS, MINUS, DOT, ZERO, NINE] = [
  0x22, 0x5c, 0x2c, 0x2b, 0x2d, 0x2e, 0x30, 0x39,
];
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN, LOWER_E, UPPER_E] = [0x20, 0x09, 0x0a, 0x0d, 0x65, 0x45];
const LOWER_U = 0x75;
const SHORT_ESCAPES = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS = ['true', 'false', 'null'] as const;
/** A number of this length at most, without an exponent, fits into a double. */
const SAFE_NUMBER_BYTES = 300;

/** Why JSON text was rejected, and the byte offset of the error; the length of the text if it ends too early. */
export class JsonError extends Error {
  readonly reason: 'syntax' | 'depth' | 'values';
  readonly at: number;

  constructor(reason: JsonError['reason'], at: number) {
    super(`${reason} at byte ${at}`);
    this.reason = reason;
    this.at = at;
  }
}

export abstract class JsonLexer {
  protected readonly bytes: Buffer;
  protected readonly end: number;
  /** One character for each byte: cheap to slice, and correct if the slice is ASCII. */
  readonly #latin1: string;
  readonly #isAscii: boolean;
  protected readonly hasEscapes: boolean;
  /** Whether there was white space since `resetSpaces`. */
  #hasSpaces = false;
  #scratchBuffer: Buffer | undefined;

  /** @param text a string, or valid UTF-8 (not checked). */
  constructor(text: Buffer | string) {
    const isString = typeof text === 'string';
    this.bytes = isString ? Buffer.from(text) : text;
    this.end = this.bytes.length;
    this.#isAscii = isString ? this.end === text.length : isAscii(text);
    this.#latin1 = isString && this.#isAscii ? text : this.bytes.toString('latin1');
    this.hasEscapes = this.#latin1.includes('\\');
  }

  /** @returns the byte at an offset; -1 at the end. */
  protected byteAt(at: number): number {
    return at < this.end ? this.bytes[at]! : -1;
  }

  /** @returns the offset of the next byte that is not white space. */
  protected skipSpacesFrom(at: number): number {
    const code = this.byteAt(at);
    if (code > SPACE || !isSpace(code)) return at;
    let to = at + 1;
    while (isSpace(this.byteAt(to))) to++;
    this.#hasSpaces = true;
    return to;
  }

  /** @returns the offset behind the string. @throws {JsonError} syntax. */
  protected endOfString(from: number): number {
    const { bytes } = this;
    const end = this.end;
    let at = from + 1;
    for (; at < end; at++) {
      const code = bytes[at]!;
      if (code === QUOTE) return at + 1;
      if (code === BACKSLASH) at += this.#escapeLength(at);
      else if (code < SPACE) break;
    }
    throw new JsonError('syntax', at);
  }

  /** @returns the length of an escape sequence without its backslash. @throws {JsonError} syntax. */
  #escapeLength(at: number): number {
    const code = this.byteAt(at + 1);
    if (SHORT_ESCAPES.has(code)) return 1;
    let digits = 0;
    while (code === LOWER_U && digits < 4 && isHex(this.byteAt(at + 2 + digits))) digits++;
    if (digits === 4) return 5;
    const wrong = code === LOWER_U ? at + 2 + digits : at + 1;
    throw new JsonError('syntax', wrong >= this.end ? this.end : at);
  }

  protected isNumber(at: number): boolean {
    const code = this.byteAt(at);
    return code === MINUS || isDigit(code);
  }

  /** @returns the offset behind the number. @throws {JsonError} syntax. */
  protected endOfNumber(from: number): number {
    let at = this.byteAt(from) === MINUS ? from + 1 : from;
    at = this.byteAt(at) === ZERO ? at + 1 : this.#digits(at, from);
    if (this.byteAt(at) === DOT) at = this.#digits(at + 1);
    const code = this.byteAt(at);
    if (code !== LOWER_E && code !== UPPER_E) return at;
    const sign = this.byteAt(at + 1);
    return this.#digits(sign === PLUS || sign === MINUS ? at + 2 : at + 1);
  }

  /** @param errorAt the offset to report if there is no digit. @returns the offset behind the digits. */
  #digits(from: number, errorAt = from): number {
    let at = from;
    while (isDigit(this.byteAt(at))) at++;
    if (at === from) throw new JsonError('syntax', from < this.end ? errorAt : from);
    return at;
  }

  /** Whether the number overflows a double, such as 1e400. */
  protected overflows(from: number, to: number): boolean {
    let mayOverflow = to - from > SAFE_NUMBER_BYTES;
    for (let at = from; at < to && !mayOverflow; at++) {
      const code = this.bytes[at]!;
      mayOverflow = code === LOWER_E || code === UPPER_E;
    }
    return mayOverflow && !Number.isFinite(Number(this.#latin1.slice(from, to)));
  }

  /** @returns the literal at an offset. @throws {JsonError} syntax. */
  protected literalAt(at: number): (typeof LITERALS)[number] {
    for (const literal of LITERALS) if (this.#latin1.startsWith(literal, at)) return literal;
    throw new JsonError('syntax', at);
  }

  protected slice(from: number, to: number): string {
    const isAsciiSlice = this.#isAscii || this.#isAsciiIn(from, to);
    return isAsciiSlice ? this.#latin1.slice(from, to) : this.bytes.toString('utf8', from, to);
  }

  #isAsciiIn(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (this.bytes[at]! >= 0x80) return false;
    return true;
  }

  /** @returns the value of a string. @param from its opening quote. @param to behind its closing quote. */
  protected stringValue(from: number, to: number): string {
    const text = this.slice(from + 1, to - 1);
    // Safe for a single string: JSON.parse only confuses the names of members (jsonReader.ts).
    return this.hasEscapes && text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }

  /** Forgets white space seen so far. Call it before reading the text that `withoutSpaces` will be asked for. */
  resetSpaces(): void {
    this.#hasSpaces = false;
  }

  /** @param ranges start and end offsets, alternating. @returns their text, joined with commas, without white space between tokens. */
  withoutSpaces(ranges: readonly number[]): string {
    if (ranges.length === 2 && !this.#hasSpaces) return this.slice(ranges[0]!, ranges[1]!);
    let length = 0;
    for (let i = 0; i < ranges.length; i += 2) {
      if (i > 0) this.#scratch[length++] = COMMA;
      length = this.#copyTokens(ranges[i]!, ranges[i + 1]!, length);
    }
    return this.#scratch.toString(this.#isAscii ? 'latin1' : 'utf8', 0, length);
  }

  #copyTokens(from: number, to: number, into: number): number {
    const { bytes } = this;
    const scratch = this.#scratch;
    let length = into;
    let isInString = false;
    for (let at = from; at < to; at++) {
      const code = bytes[at]!;
      if (code === QUOTE) isInString = !isInString;
      else if (!isInString && isSpace(code)) continue;
      scratch[length++] = code;
      if (code === BACKSLASH) scratch[length++] = bytes[++at]!;
    }
    return length;
  }

  /** As large as the text; allocated on first use. */
  get #scratch(): Buffer {
    this.#scratchBuffer ??= Buffer.allocUnsafe(this.end);
    return this.#scratchBuffer;
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isHex(code: number): boolean {
  return isDigit(code) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46);
}

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB;
}
