import { isAscii, isUtf8 } from 'node:buffer';
import { EVENT_DEPTH_LEVELS } from '../base/limits.ts';
import { JsonError } from './errors.ts';
import { endOfNumber } from './jsonNumber.ts';
import type { MemberNames } from './memberNames.ts';

/**
 * A reader of JSON text (RFC 8259): a single pass over the bytes that checks the grammar, the depth and the number of values, and
 * builds only the values that its caller reads. JSON.parse gets single strings alone: it rounds numbers, and can give members the names of
 * others (nodejs/node#63785). Offsets are in bytes. The reader is always at the start of a value, or behind one.
 */

const [QUOTE, BACKSLASH, COMMA, COLON, NINE, LOWER_A, LOWER_E] = [0x22, 0x5c, 0x2c, 0x3a, 0x39, 0x61, 0x65];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = [0x20, 0x09, 0x0a, 0x0d];
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const EXPONENT = /[eE][+-]?\d+/y;
/** The last ones are what some libraries write for numbers that JSON does not have. */
const LITERALS = ['true', 'false', 'null', 'NaN', 'Infinity', '-Infinity'];
const NOT_UTF8 = 'is not valid UTF-8';
/** A number of this length at most fits into a double, if it has no exponent. */
const SAFE_NUMBER_BYTES = 300;
/** Levels that the reader, which calls itself for each, goes down: far beyond those of an event. */
const DEPTH_MAX = 1_000;

export class JsonReader {
  /** The current byte offset. */
  at = 0;
  /** The current member's name, from its first quote to behind its last one. */
  nameFrom = 0;
  nameTo = 0;
  /** Whether a number that overflows a double was met, since this was last set to false: one that `read` has not returned. */
  isTooLarge = false;
  /** The fault since `beginEvent` behind which the text could be read on, the first that is no JSON; none if the event was cut off. */
  fault: JsonError | undefined;
  #values = 0;
  #depth = 0;
  /** Whether it is in front of the first item of a list. */
  #isFirst = false;
  #hasSpaces = false;
  #hasEscapes = false;
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #isAscii: boolean;
  readonly #isUtf8: boolean;
  /** One character for each byte: cheap to slice, and correct if the slice is ASCII. */
  readonly #latin1: string;
  readonly #valuesMax: number;

  constructor(text: Buffer | string, valuesMax = Number.POSITIVE_INFINITY) {
    this.#bytes = typeof text === 'string' ? Buffer.from(text) : text;
    this.#end = this.#bytes.length;
    this.#isAscii = isAscii(this.#bytes);
    this.#isUtf8 = this.#isAscii || isUtf8(this.#bytes);
    this.#latin1 = this.#bytes.toString('latin1');
    this.#valuesMax = valuesMax;
  }

  /** @returns the next character: `{` of an object, `[` of an array, nothing at the end. */
  peek(): string {
    return this.#latin1.charAt(this.at);
  }

  /** The current member's name, decoded. */
  get name(): string {
    return this.#string(this.nameFrom, this.nameTo);
  }

  /** @returns the index of the current member's name, which may have escapes; -1 if it is none of them. */
  nameIn(names: MemberNames): number {
    const index = names.find(this.#bytes, this.nameFrom + 1, this.nameTo - 1);
    return index < 0 && this.#hasEscapes ? names.find(Buffer.from(this.name)) : index;
  }

  /** What is read now is an event: levels around it do not count, and `fault` is one of its own. */
  beginEvent(): void {
    this.#depth = 0;
    this.fault = undefined;
  }

  /** @param error if the event could not be read to its end: it is not certain where the next one begins. @returns its fault. */
  endEvent(from: number, error?: JsonError): JsonError | undefined {
    if (error !== undefined) [this.at, this.fault] = [this.#end, undefined];
    if (!this.#isUtf8 && !isUtf8(this.#bytes.subarray(from, this.at)))
      return new JsonError('invalid_json', NOT_UTF8, from);
    return error ?? this.fault;
  }

  /** Moves to the next byte that is not white space. */
  skipSpaces(): void {
    for (; isSpace(this.#byteAt(this.at)); this.at++) this.#hasSpaces = true;
  }

  /** Moves into the current value, up to its first item. @param open what it must begin with. @throws {JsonError} */
  enter(open: '[' | '{'): void {
    this.#countValue();
    if (++this.#depth > EVENT_DEPTH_LEVELS)
      this.fault ??= new JsonError('too_deep', `is nested deeper than ${EVENT_DEPTH_LEVELS} levels`, this.at);
    if (this.#depth > DEPTH_MAX) throw this.fault!;
    if (this.peek() !== open) throw this.syntaxError();
    this.at++;
    this.#isFirst = true;
  }

  /** Moves to the next element of an array. @returns false if there is none, and it is behind the array. @throws {JsonError} */
  nextElement(): boolean {
    return this.#next(CLOSE_ARRAY);
  }

  /** Moves to the value of the next member of an object. @returns false if there is none, and it is behind the object. @throws {JsonError} */
  nextMember(): boolean {
    if (!this.#next(CLOSE_OBJECT)) return false;
    if (this.#byteAt(this.at) !== QUOTE) throw this.syntaxError();
    this.nameFrom = this.at;
    this.at = this.nameTo = this.#endOfString(this.at);
    this.skipSpaces();
    this.#pass(COLON);
    return true;
  }

  /** Moves behind the current value without building it. @throws {JsonError} */
  skip(): void {
    const code = this.#byteAt(this.at);
    if (code === OPEN_OBJECT) for (this.enter('{'); this.nextMember(); ) this.skip();
    else if (code === OPEN_ARRAY) for (this.enter('['); this.nextElement(); ) this.skip();
    else this.#skipScalar(code);
  }

  /** Reads the current value. @returns it; an object or an array as an empty one. @throws {JsonError} */
  read(): unknown {
    const { at: from, isTooLarge } = this;
    const code = this.#byteAt(from);
    this.skip();
    if (code === QUOTE) return this.#string(from, this.at);
    if (code === OPEN_OBJECT) return {};
    if (code === OPEN_ARRAY) return [];
    const text = this.#latin1.slice(from, this.at);
    if (code > NINE) return text === 'null' ? null : text === 'true';
    this.isTooLarge = isTooLarge;
    return Number(text);
  }

  /** @returns the text between two offsets, as it was sent. */
  slice(from: number, to = this.#end): string {
    let at = this.#isAscii ? to : from;
    while (at < to && this.#bytes[at]! < 0x80) at++;
    return at === to ? this.#latin1.slice(from, to) : this.#bytes.toString('utf8', from, to);
  }

  /** @returns the text between two offsets of what was read, without white space. */
  withoutSpaces(from: number, to: number): string {
    if (!this.#hasSpaces) return this.slice(from, to);
    const kept = Buffer.allocUnsafe(to - from);
    let [length, isInString] = [0, false];
    for (let at = from; at < to; at++) {
      const code = this.#bytes[at]!;
      if (code === QUOTE) isInString = !isInString;
      else if (!isInString && isSpace(code)) continue;
      kept[length++] = code;
      if (code === BACKSLASH) kept[length++] = this.#bytes[++at]!;
    }
    return kept.toString(this.#isAscii ? 'latin1' : 'utf8', 0, length);
  }

  /** @returns the error of what is at an offset: it quotes nothing of the text. */
  syntaxError(at = this.at): JsonError {
    const why = at < this.#end ? `unexpected text at byte ${at}` : 'it ends too early';
    return new JsonError('invalid_json', this.#isUtf8 ? `is not JSON: ${why}` : NOT_UTF8, at);
  }

  /** Moves to the next item of a list, or behind its end and the white space there. */
  #next(close: number): boolean {
    this.skipSpaces();
    const isEnd = this.#byteAt(this.at) === close;
    if (isEnd) this.#depth--;
    if (isEnd || !this.#isFirst) this.#pass(isEnd ? close : COMMA);
    this.#isFirst = false;
    return !isEnd;
  }

  /** Moves behind a mark that must be here, and behind white space. */
  #pass(mark: number): void {
    if (this.#byteAt(this.at) !== mark) throw this.syntaxError();
    this.at++;
    this.skipSpaces();
  }

  #countValue(): void {
    if (++this.#values <= this.#valuesMax) return;
    const why = `holds more than ${this.#valuesMax} JSON values: send fewer or smaller events in one request`;
    throw new JsonError('body_too_large', `${why}. Nothing was stored`, this.at);
  }

  /** Moves behind a value that is no array and no object. */
  #skipScalar(code: number): void {
    this.#countValue();
    const from = this.at;
    this.at = code === QUOTE ? this.#endOfString(from) : endOfNumber(this.#bytes, from);
    if (code === QUOTE) return;
    if (this.at > from) {
      EXPONENT.lastIndex = this.at;
      if ((this.#byteAt(this.at) | 0x20) === LOWER_E && EXPONENT.test(this.#latin1))
        this.at = EXPONENT.lastIndex;
      else if (this.at - from < SAFE_NUMBER_BYTES) return;
      this.isTooLarge ||= !Number.isFinite(Number(this.#latin1.slice(from, this.at)));
      return;
    }
    const word = LITERALS.find((word) => this.#latin1.startsWith(word, from));
    if (word === undefined) throw this.syntaxError();
    this.at += word.length;
    if (code >= LOWER_A || this.fault?.code === 'invalid_json') return;
    const why = `${word} at byte ${from}. JSON has no such number: omit the member`;
    this.fault = new JsonError('invalid_json', `is not JSON: ${why}`, from);
  }

  /** @returns the byte at an offset; -1 at the end. */
  #byteAt(at: number): number {
    return at < this.#end ? this.#bytes[at]! : -1;
  }

  /** @returns the offset behind the string. @throws {JsonError} */
  #endOfString(from: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    for (let at = from + 1; at < end; at++) {
      const code = bytes[at]!;
      if (code === QUOTE) return at + 1;
      if (code < SPACE) throw this.syntaxError(at);
      if (code !== BACKSLASH) continue;
      this.#hasEscapes = true;
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(this.#latin1)) throw this.syntaxError(from);
      at++;
    }
    throw this.syntaxError(end);
  }

  /** @returns the value of a string. @param from its opening quote. @param to behind its closing quote. */
  #string(from: number, to: number): string {
    const text = this.slice(from + 1, to - 1);
    return this.#hasEscapes && text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}

function isSpace(code: number): boolean {
  return code <= SPACE && (code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB);
}
