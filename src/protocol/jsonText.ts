import { isAscii } from 'node:buffer';

const [QUOTE, BACKSLASH, COMMA, PLUS, MINUS, DOT, ZERO, NINE] = [
  0x22, 0x5c, 0x2c, 0x2b, 0x2d, 0x2e, 0x30, 0x39,
];
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN, LOWER_E, UPPER_E] = [0x20, 0x09, 0x0a, 0x0d, 0x65, 0x45];
const LOWER_U = 0x75;
const SHORT_ESCAPES = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS = ['true', 'false', 'null'] as const;
/** A shorter number without an exponent is not too large for a double. */
const LARGE_BYTES = 300;

/** JSON that is not read to its end: `at` is the byte where that was found, from 0, and the text's length where it ends too early. */
export class JsonError extends Error {
  readonly reason: 'syntax' | 'depth' | 'values';
  readonly at: number;

  constructor(reason: JsonError['reason'], at: number) {
    super(`${reason} at byte ${at}`);
    this.reason = reason;
    this.at = at;
  }
}

/** The smallest parts of JSON text (RFC 8259): strings, numbers, literals and the white space between them. Places are bytes. */
export abstract class JsonText {
  protected readonly bytes: Buffer;
  protected readonly end: number;
  /** A character for each byte: slices of it cost little, and are right where all is ASCII. */
  readonly #latin1: string;
  readonly #isAscii: boolean;
  protected readonly hasEscapes: boolean;
  /** White space that was stepped over: where it begins and ends, by turns. Used again and again, so it does not shrink. */
  readonly #gaps: number[] = [];
  #gapCount = 0;
  #room: Buffer | undefined;

  /** @param text as a string, or in UTF-8, which is not looked at. */
  constructor(text: Buffer | string) {
    const isString = typeof text === 'string';
    this.bytes = isString ? Buffer.from(text) : text;
    this.end = this.bytes.length;
    this.#isAscii = isString ? this.end === text.length : isAscii(text);
    this.#latin1 = isString && this.#isAscii ? text : this.bytes.toString('latin1');
    this.hasEscapes = this.#latin1.includes('\\');
  }

  /** @returns the byte here, -1 behind the end. */
  protected code(at: number): number {
    return at < this.end ? this.bytes[at]! : -1;
  }

  /** @returns where the next is that is no white space. */
  protected skipSpace(at: number): number {
    const code = this.code(at);
    if (code > SPACE || !isSpace(code)) return at;
    let to = at + 1;
    while (isSpace(this.code(to))) to++;
    this.#gaps[this.#gapCount++] = at;
    this.#gaps[this.#gapCount++] = to;
    return to;
  }

  /** @returns the place behind a string. @throws {JsonError} */
  protected endOfString(from: number): number {
    const { bytes } = this;
    const end = this.end;
    let at = from + 1;
    for (; at < end; at++) {
      const code = bytes[at]!;
      if (code === QUOTE) return at + 1;
      if (code === BACKSLASH) at += this.#escape(at);
      else if (code < SPACE) break;
    }
    throw new JsonError('syntax', at);
  }

  /** @returns how many characters belong to the backslash. */
  #escape(at: number): number {
    const code = this.code(at + 1);
    if (SHORT_ESCAPES.has(code)) return 1;
    let digits = 0;
    while (code === LOWER_U && digits < 4 && isHex(this.code(at + 2 + digits))) digits++;
    if (digits === 4) return 5;
    const wrong = code === LOWER_U ? at + 2 + digits : at + 1;
    throw new JsonError('syntax', wrong >= this.end ? this.end : at);
  }

  protected isNumber(at: number): boolean {
    const code = this.code(at);
    return code === MINUS || isDigit(code);
  }

  /** @returns the place behind a number. @throws {JsonError} */
  protected endOfNumber(from: number): number {
    let at = this.code(from) === MINUS ? from + 1 : from;
    at = this.code(at) === ZERO ? at + 1 : this.#digits(at, from);
    if (this.code(at) === DOT) at = this.#digits(at + 1);
    const code = this.code(at);
    if (code !== LOWER_E && code !== UPPER_E) return at;
    const sign = this.code(at + 1);
    return this.#digits(sign === PLUS || sign === MINUS ? at + 2 : at + 1);
  }

  /** @param begin of what is no number, where there are none. */
  #digits(from: number, begin = from): number {
    let at = from;
    while (isDigit(this.code(at))) at++;
    if (at === from) throw new JsonError('syntax', from < this.end ? begin : from);
    return at;
  }

  /** Whether a double cannot hold this number, such as 1e400. */
  protected isTooLarge(from: number, to: number): boolean {
    let mayBe = to - from > LARGE_BYTES;
    for (let at = from; at < to && !mayBe; at++) {
      const code = this.bytes[at]!;
      mayBe = code === LOWER_E || code === UPPER_E;
    }
    return mayBe && !Number.isFinite(Number(this.#latin1.slice(from, to)));
  }

  /** @returns the literal here. @throws {JsonError} */
  protected literalAt(at: number): (typeof LITERALS)[number] {
    for (const literal of LITERALS) if (this.#latin1.startsWith(literal, at)) return literal;
    throw new JsonError('syntax', at);
  }

  protected slice(from: number, to: number): string {
    const isSame = this.#isAscii || this.#isAsciiIn(from, to);
    return isSame ? this.#latin1.slice(from, to) : this.bytes.toString('utf8', from, to);
  }

  #isAsciiIn(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (this.bytes[at]! >= 0x80) return false;
    return true;
  }

  /** @returns what a string says, from its opening quote to behind its closing one. */
  protected contentOf(from: number, to: number): string {
    const text = this.slice(from + 1, to - 1);
    // A string alone has no members whose names could be wrong.
    return this.hasEscapes && text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }

  /** Forgets where white space was: before what `bare` will be asked for is stepped over. */
  forgetSpace(): void {
    this.#gapCount = 0;
  }

  /** @returns what stands in these places (from and to, by turns), with commas between them, without white space outside of strings. */
  bare(places: readonly number[]): string {
    if (places.length === 2 && this.#gapCount === 0) return this.slice(places[0]!, places[1]!);
    const gaps = this.#gaps;
    let [length, gap] = [0, 0];
    for (let i = 0; i < places.length; i += 2) {
      let at = places[i]!;
      const to = places[i + 1]!;
      if (i > 0) this.#scratch[length++] = COMMA;
      for (; gap < this.#gapCount && gaps[gap]! < to; gap += 2) {
        if (gaps[gap]! < at) continue;
        length = this.#copy(at, gaps[gap]!, length);
        at = gaps[gap + 1]!;
      }
      length = this.#copy(at, to, length);
    }
    return this.#scratch.toString(this.#isAscii ? 'latin1' : 'utf8', 0, length);
  }

  #copy(from: number, to: number, into: number): number {
    const { bytes } = this;
    const scratch = this.#scratch;
    let length = into;
    for (let at = from; at < to; at++) scratch[length++] = bytes[at]!;
    return length;
  }

  /** Room for all of the text: made when it is first needed. */
  get #scratch(): Buffer {
    this.#room ??= Buffer.allocUnsafe(this.end);
    return this.#room;
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
