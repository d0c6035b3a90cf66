import { isAscii, isUtf8 } from 'node:buffer';
import { BODY_VALUES, EVENT_DEPTH_LEVELS } from '../base/limits.ts';

/**
 * A reader of JSON text (RFC 8259): a single pass over the bytes that checks the grammar, the depth and the number of values, and
 * builds only the values that its caller reads. JSON.parse gets single strings alone: it rounds numbers, and can give members the names of
 * others (nodejs/node#63785). Offsets are in bytes. The reader is always at the start of a value, or behind one.
 */

const [QUOTE, BACKSLASH, COMMA, COLON, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x3a, 0x2d, 0x30, 0x39];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = [0x20, 0x09, 0x0a, 0x0d];
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?/y;
const EXPONENT = /[eE][+-]?\d+/y;
const LITERALS = ['true', 'false', 'null'];
/** A number of this length at most fits into a double, if it has no exponent. */
const SAFE_NUMBER_BYTES = 300;
/** Within a string, it shows that the string's first quote is the last one of another string. */
const NEXT_EVENT = /\}\s*,\s*\{/;

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

/** How deep a text may be nested, and how many values it may hold. */
const REQUEST_LIMITS = { depth: EVENT_DEPTH_LEVELS, values: BODY_VALUES };

export class JsonReader {
  /** The current byte offset. */
  at = 0;
  /** The offset of the current member's name. */
  nameFrom = 0;
  /** Whether `skip` has met a number that overflows a double, since this was last set to false. */
  isTooLarge = false;
  /** Whether the whole text is UTF-8. */
  readonly isUtf8: boolean;
  #nameTo = 0;
  #values = 0;
  #depth = 0;
  #hasEscapes = false;
  #hasSpaces = false;
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #isAscii: boolean;
  /** One character for each byte: cheap to slice, and correct if the slice is ASCII. */
  readonly #latin1: string;
  readonly #limits: typeof REQUEST_LIMITS;
  readonly #skip = () => this.skip();

  /** @param limits by default those of a request. */
  constructor(text: Buffer | string, limits = REQUEST_LIMITS) {
    this.#bytes = typeof text === 'string' ? Buffer.from(text) : text;
    this.#end = this.#bytes.length;
    this.#isAscii = isAscii(this.#bytes);
    this.isUtf8 = this.#isAscii || isUtf8(this.#bytes);
    this.#latin1 = this.#bytes.toString('latin1');
    this.#limits = limits;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#end;
  }

  get isAtObject(): boolean {
    return this.#byteAt(this.at) === OPEN_OBJECT;
  }

  get isAtArray(): boolean {
    return this.#byteAt(this.at) === OPEN_ARRAY;
  }

  /** The current member's name, decoded. */
  get name(): string {
    return this.#string(this.nameFrom, this.#nameTo);
  }

  /** Whether the text continues with `word` from an offset on. */
  isAt(word: string, at: number): boolean {
    return this.#latin1.startsWith(word, at);
  }

  /** An array or object around events does not count as a level: an event in it may be as deep as one sent alone. */
  aroundEvents(): this {
    this.#depth--;
    return this;
  }

  /** Moves to the next byte that is not white space. */
  skipSpaces(): void {
    if (!isSpace(this.#byteAt(this.at))) return;
    this.#hasSpaces = true;
    do this.at++;
    while (isSpace(this.#byteAt(this.at)));
  }

  /** Reads the current array and moves behind it. @param element called at each; it moves behind the element. @throws {JsonError} */
  array(element: () => void): void {
    this.#list(CLOSE_ARRAY, element);
  }

  /** Reads the current object and moves behind it. @param member called at each value; it moves behind the value. @throws {JsonError} */
  object(member: () => void): void {
    this.#list(CLOSE_OBJECT, () => {
      this.nameFrom = this.at;
      this.#expect(QUOTE);
      this.#nameTo = this.at = this.#endOfString(this.at);
      this.skipSpaces();
      this.#expect(COLON);
      this.at++;
      this.skipSpaces();
      member();
    });
  }

  /** Moves behind the current value without building it. @throws {JsonError} */
  skip(): void {
    const from = this.at;
    const code = this.#byteAt(from);
    if (code === OPEN_OBJECT) this.object(this.#skip);
    else if (code === OPEN_ARRAY) this.array(this.#skip);
    else this.isTooLarge = this.#moveBehindScalar() || this.isTooLarge;
  }

  /** Reads the current value. @returns it; an object or an array as an empty one. @throws {JsonError} */
  read(): unknown {
    const from = this.at;
    const code = this.#byteAt(from);
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      this.skip();
      return code === OPEN_OBJECT ? {} : [];
    }
    this.#moveBehindScalar();
    if (code === QUOTE) return this.#string(from, this.at);
    const text = this.#latin1.slice(from, this.at);
    if (isNumber(code)) return Number(text);
    return text === 'null' ? null : text === 'true';
  }

  /** Reads the current value. @returns what `read` does, but NaN if a number is an integer only because it was rounded. */
  readInteger(): unknown {
    const from = this.at;
    const value = this.read();
    if (!Number.isInteger(value)) return value;
    const digits = this.#latin1.slice(from, this.at);
    const exact = String(value);
    if (digits === exact) return value;
    const isExact = digits.length <= SAFE_NUMBER_BYTES && significant(digits) === significant(exact);
    return isExact ? value : Number.NaN;
  }

  /** Moves behind the current value. @returns its text, as it was sent. @throws {JsonError} */
  readText(): string {
    const from = this.at;
    this.skip();
    return this.#slice(from, this.at);
  }

  /** @param ranges start and end offsets of what was read, alternating. @returns their text without white space, joined with commas. */
  withoutSpaces(ranges: readonly number[]): string {
    const [from = 0, to = 0] = [ranges[0], ranges.at(-1)];
    if (ranges.length === 2 && !this.#hasSpaces) return this.#slice(from, to);
    // Between two ranges there was a comma.
    const kept = Buffer.allocUnsafe(to - from);
    let [length, isInString] = [0, false];
    for (let i = 0; i < ranges.length; i += 2) {
      if (i > 0) kept[length++] = COMMA;
      for (let at = ranges[i]!; at < ranges[i + 1]!; at++) {
        const code = this.#bytes[at]!;
        if (code === QUOTE) isInString = !isInString;
        else if (!isInString && isSpace(code)) continue;
        kept[length++] = code;
        if (code === BACKSLASH) kept[length++] = this.#bytes[++at]!;
      }
    }
    return kept.toString(this.#isAscii ? 'latin1' : 'utf8', 0, length);
  }

  /**
   * Moves behind an element of the outer array that is not JSON, or has too many levels: only its strings and brackets count.
   * If its end is not certain, because a quote or a bracket is missing, it moves to the end of the text.
   * @param from the offset at which the element begins.
   */
  skipBroken(from: number): void {
    this.#depth = 0;
    let open = 0;
    for (this.at = from; !this.isAtEnd; this.at++) {
      const code = this.#byteAt(this.at);
      if (open === 0 && (code === COMMA || code === CLOSE_ARRAY)) return;
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) open++;
      else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) open--;
      else if (code === QUOTE) {
        const quote = this.at++;
        while (!this.isAtEnd && this.#byteAt(this.at) !== QUOTE)
          this.at += this.#byteAt(this.at) === BACKSLASH ? 2 : 1;
        if (NEXT_EVENT.test(this.#latin1.slice(quote, this.at))) this.at = this.#end;
      }
    }
  }

  #list(close: number, item: () => void): void {
    this.#countValue();
    if (++this.#depth > this.#limits.depth) throw new JsonError('depth', this.at);
    this.at++;
    this.skipSpaces();
    for (let more = this.#byteAt(this.at) !== close; more; ) {
      item();
      this.skipSpaces();
      more = this.#byteAt(this.at) === COMMA;
      if (!more) this.#expect(close);
      else {
        this.at++;
        this.skipSpaces();
      }
    }
    this.at++;
    this.#depth--;
  }

  #countValue(): void {
    if (++this.#values > this.#limits.values) throw new JsonError('values', this.at);
  }

  /** Moves behind a value that is no array and no object. @returns whether it is a number that overflows a double. */
  #moveBehindScalar(): boolean {
    this.#countValue();
    const from = this.at;
    const code = this.#byteAt(from);
    if (isNumber(code)) {
      NUMBER.lastIndex = from;
      if (!NUMBER.test(this.#latin1)) throw new JsonError('syntax', from);
      this.at = EXPONENT.lastIndex = NUMBER.lastIndex;
      if (EXPONENT.test(this.#latin1)) this.at = EXPONENT.lastIndex;
      else if (this.at - from < SAFE_NUMBER_BYTES) return false;
      return !Number.isFinite(Number(this.#latin1.slice(from, this.at)));
    }
    const literal = code === QUOTE ? '' : LITERALS.find((one) => this.isAt(one, from));
    if (literal === undefined) throw new JsonError('syntax', from);
    this.at = code === QUOTE ? this.#endOfString(from) : from + literal.length;
    return false;
  }

  /** @returns the byte at an offset; -1 at the end. */
  #byteAt(at: number): number {
    return at < this.#end ? this.#bytes[at]! : -1;
  }

  #expect(code: number): void {
    if (this.#byteAt(this.at) !== code) throw new JsonError('syntax', this.at);
  }

  /** @returns the offset behind the string. @throws {JsonError} syntax. */
  #endOfString(from: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    let hasEscapes = false;
    let at = from + 1;
    for (; at < end && bytes[at] !== QUOTE; at++) {
      if (bytes[at]! < SPACE) throw new JsonError('syntax', at);
      if (bytes[at] !== BACKSLASH) continue;
      hasEscapes = true;
      at++;
    }
    if (at >= end) throw new JsonError('syntax', end);
    if (!hasEscapes) return at + 1;
    this.#hasEscapes = true;
    try {
      JSON.parse(this.#latin1.slice(from, at + 1));
    } catch {
      throw new JsonError('syntax', from);
    }
    return at + 1;
  }

  #slice(from: number, to: number): string {
    let at = this.#isAscii ? to : from;
    while (at < to && this.#bytes[at]! < 0x80) at++;
    return at === to ? this.#latin1.slice(from, to) : this.#bytes.toString('utf8', from, to);
  }

  /** @returns the value of a string. @param from its opening quote. @param to behind its closing quote. */
  #string(from: number, to: number): string {
    const text = this.#slice(from + 1, to - 1);
    return this.#hasEscapes && text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}

function isNumber(first: number): boolean {
  return first === MINUS || (first >= ZERO && first <= NINE);
}

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB;
}

/** @returns the digits of a number without its sign, point, exponent and outer zeros: with an equal magnitude they make it exact. */
function significant(number: string): string {
  return number.replace(/[eE].*|[-.]/g, '').replace(/^0+|0+$/g, '');
}
