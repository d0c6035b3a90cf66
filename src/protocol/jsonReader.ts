import { BODY_VALUES, EVENT_DEPTH_LEVELS } from '../base/limits.ts';
import { JsonError, JsonLexer } from './jsonLexer.ts';

/**
 * A pull parser for JSON text: a single pass that checks the grammar (RFC 8259), the depth and the number of values, and builds
 * only the values that its caller reads. JSON.parse is not used: it rounds numbers, and can give members the names of others
 * (nodejs/node#63785). The reader is always at the start of a value, or behind one.
 */

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Within a string, it shows that the string's first quote is the last one of another string. */
const NEXT_EVENT = /\}\s*,\s*\{/;
const VALUES = { true: true, false: false, null: null } as const;

/** How deep a text may be nested, and how many values it may hold. */
interface JsonLimits {
  readonly depth: number;
  readonly values: number;
}

const REQUEST_LIMITS: JsonLimits = { depth: EVENT_DEPTH_LEVELS, values: BODY_VALUES };

export class JsonReader extends JsonLexer {
  /** The current byte offset. */
  at = 0;
  /** The offset of the current member's name. */
  nameFrom = 0;
  /** Whether `skip` has met a number that overflows a double, since this was last set to false. */
  isTooLarge = false;
  #nameTo = 0;
  #values = 0;
  #depth = 0;
  readonly #valuesMax: number;
  #depthMax: number;

  /** @param text a string, or valid UTF-8 (not checked). @param limits by default those of a request. */
  constructor(text: Buffer | string, limits: JsonLimits = REQUEST_LIMITS) {
    super(text);
    this.#depthMax = limits.depth;
    this.#valuesMax = limits.values;
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  /** Whether it is outside of all arrays and objects. */
  get isAtTop(): boolean {
    return this.#depth === 0;
  }

  get isAtObject(): boolean {
    return this.byteAt(this.at) === OPEN_OBJECT;
  }

  get isAtArray(): boolean {
    return this.byteAt(this.at) === OPEN_ARRAY;
  }

  /** Moves behind the current value without building it. @throws {JsonError} */
  skip(): void {
    const from = this.at;
    const code = this.byteAt(from);
    if (code === OPEN_OBJECT) {
      for (let more = this.enterObject(); more; more = this.nextMember()) this.skip();
    } else if (code === OPEN_ARRAY) {
      for (let more = this.enterArray(); more; more = this.nextElement()) this.skip();
    } else {
      this.#countValue();
      if (code === QUOTE) this.at = this.endOfString(from);
      else if (this.isNumber(from)) {
        this.at = this.endOfNumber(from);
        this.isTooLarge ||= this.overflows(from, this.at);
      } else this.at += this.literalAt(from).length;
    }
  }

  /**
   * Moves behind an element of the outer array that is not JSON, or has too many levels: only its strings and brackets count.
   * If its end is not certain, because a quote or a bracket is missing, it moves to the end of the text.
   * @param from the offset at which the element begins.
   */
  skipBroken(from: number): void {
    this.#depth = 1;
    let open = 0;
    for (this.at = from; this.at < this.end; this.at++) {
      const code = this.byteAt(this.at);
      if (open === 0 && (code === COMMA || code === CLOSE_ARRAY)) return;
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) open++;
      else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) open--;
      else if (code === QUOTE) {
        const quote = this.at++;
        while (!this.isAtEnd && this.byteAt(this.at) !== QUOTE)
          this.at += this.byteAt(this.at) === BACKSLASH ? 2 : 1;
        if (NEXT_EVENT.test(this.slice(quote, this.at))) this.at = this.end;
      }
    }
    this.at = this.end;
  }

  /** Reads the current value. @returns it; an object as {}, and an array as one of the same length without elements. @throws {JsonError} */
  read(): unknown {
    const from = this.at;
    const code = this.byteAt(from);
    if (code === OPEN_OBJECT) {
      this.skip();
      return {};
    }
    if (code === OPEN_ARRAY) {
      let length = 0;
      for (let more = this.enterArray(); more; more = this.nextElement()) {
        this.skip();
        length++;
      }
      return new Array(length);
    }
    this.#countValue();
    if (code === QUOTE) {
      this.at = this.endOfString(from);
      return this.stringValue(from, this.at);
    }
    if (this.isNumber(from)) {
      this.at = this.endOfNumber(from);
      return Number(this.slice(from, this.at));
    }
    const literal = this.literalAt(from);
    this.at += literal.length;
    return VALUES[literal];
  }

  /** Reads the current value. @returns what `read` does, but NaN if a number is an integer only because it was rounded. */
  readInteger(): unknown {
    const from = this.at;
    const value = this.read();
    if (!Number.isInteger(value)) return value;
    const digits = this.slice(from, this.at);
    const exact = String(value);
    return digits === exact || significant(digits) === significant(exact) ? value : Number.NaN;
  }

  /** Moves behind the current value. @returns its text, as it was sent. @throws {JsonError} */
  readText(): string {
    const from = this.at;
    this.skip();
    return this.slice(from, this.at);
  }

  /** An array or object around events does not count as a level: an event in it may be as deep as one sent alone. */
  aroundEvents(): this {
    this.#depthMax++;
    return this;
  }

  /** Moves from an array to its first element. @returns whether there is one; if not, the reader is behind the array. */
  enterArray(): boolean {
    const at = this.#open();
    if (this.byteAt(at) === CLOSE_ARRAY) return this.#close(at);
    this.at = at;
    return true;
  }

  /** Moves from behind an element to the next one. @returns whether there is one; if not, the reader is behind the array. */
  nextElement(): boolean {
    const at = this.skipSpacesFrom(this.at);
    const code = this.byteAt(at);
    if (code === CLOSE_ARRAY) return this.#close(at);
    if (code !== COMMA) throw new JsonError('syntax', at);
    this.at = this.skipSpacesFrom(at + 1);
    return true;
  }

  /** Moves from an object to the value of its first member. @returns whether there is one; if not, the reader is behind the object. */
  enterObject(): boolean {
    const at = this.#open();
    return this.byteAt(at) === CLOSE_OBJECT ? this.#close(at) : this.#enterMember(at);
  }

  /** Moves from behind a member to the value of the next one. @returns whether there is one; if not, the reader is behind the object. */
  nextMember(): boolean {
    const at = this.skipSpacesFrom(this.at);
    const code = this.byteAt(at);
    if (code === CLOSE_OBJECT) return this.#close(at);
    if (code !== COMMA) throw new JsonError('syntax', at);
    return this.#enterMember(this.skipSpacesFrom(at + 1));
  }

  /** Moves to the next byte that is not white space. */
  skipSpaces(): void {
    this.at = this.skipSpacesFrom(this.at);
  }

  /** The current member's name, decoded. */
  get name(): string {
    return this.stringValue(this.nameFrom, this.#nameTo);
  }

  /** @param from the `nameFrom` of a member that was read. @returns its name, decoded. */
  nameAt(from: number): string {
    return this.stringValue(from, this.endOfString(from));
  }

  /** Whether the text continues with `word`. */
  isAt(word: string): boolean {
    return this.slice(this.at, this.at + word.length) === word;
  }

  #enterMember(from: number): true {
    if (this.byteAt(from) !== QUOTE) throw new JsonError('syntax', from);
    const to = this.endOfString(from);
    const colon = this.skipSpacesFrom(to);
    if (this.byteAt(colon) !== COLON) throw new JsonError('syntax', colon);
    this.nameFrom = from;
    this.#nameTo = to;
    this.at = this.skipSpacesFrom(colon + 1);
    return true;
  }

  /** @returns the offset of the first byte that is not white space behind the bracket. @throws {JsonError} depth or values. */
  #open(): number {
    this.#countValue();
    if (++this.#depth > this.#depthMax) throw new JsonError('depth', this.at);
    return this.skipSpacesFrom(this.at + 1);
  }

  #close(at: number): false {
    this.#depth--;
    this.at = at + 1;
    return false;
  }

  #countValue(): void {
    if (++this.#values > this.#valuesMax) throw new JsonError('values', this.at);
  }
}

/** @returns the digits of a number without its sign, point, exponent and outer zeros: with an equal magnitude they make it exact. */
function significant(number: string): string {
  const digits = number.replace(/[eE].*|[-.]/g, '').replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
