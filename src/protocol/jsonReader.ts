import { BODY_VALUES, EVENT_DEPTH_LEVELS, LISTED_FAULTS, QUOTED_CHARS } from '../base/limits.ts';
import { JsonError, JsonText } from './jsonText.ts';
import type { MemberNames } from './memberNames.ts';

const [QUOTE, COMMA, COLON] = [0x22, 0x2c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const VALUES = { true: true, false: false, null: null } as const;

/** Numbers too large for a double that were stepped over. */
export interface TooLarge {
  total: number;
  /** Where the first of them stand: for each level where the member's name begins, or -1 - the element's index. */
  readonly paths: (readonly number[])[];
}

/**
 * Reads JSON text once, from front to back, and checks all of its grammar, its depth and the number of its values. It
 * makes values only of what its caller reads, and steps over the rest. JSON.parse is not asked: it rounds numbers, and
 * gives members the names of others (nodejs/node#63785). It stands on a value, or behind one.
 */
export class JsonReader extends JsonText {
  /** The byte on which it stands. */
  at = 0;
  /** Where the name of the member begins whose value it stands on. */
  nameFrom = 0;
  /** What was found since this was set to undefined. */
  tooLarge: TooLarge | undefined;
  readonly #keepsDigits: boolean;
  #nameTo = 0;
  #values = 0;
  #depth = 0;
  #depthMax = EVENT_DEPTH_LEVELS;
  /** The path of the value on which it stands: see TooLarge. */
  readonly #path: number[] = [];

  /** @param text as a string, or in UTF-8, which is not looked at. @param numbers what `read` gives for a number: a double, or its text. */
  constructor(text: Buffer | string, numbers: 'doubles' | 'texts' = 'doubles') {
    super(text);
    this.#keepsDigits = numbers === 'texts';
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  /** Whether it stands in no list. */
  get isAtTop(): boolean {
    return this.#depth === 0;
  }

  get isAtObject(): boolean {
    return this.code(this.at) === OPEN_OBJECT;
  }

  get isAtArray(): boolean {
    return this.code(this.at) === OPEN_ARRAY;
  }

  /** Steps over one value. @throws {JsonError} */
  value(): void {
    const from = this.at;
    const code = this.code(from);
    if (code === OPEN_OBJECT) {
      for (let more = this.enterObject(); more; more = this.nextMember()) this.value();
    } else if (code === OPEN_ARRAY) {
      for (let more = this.enterArray(); more; more = this.nextElement()) this.value();
    } else {
      this.#count();
      if (code === QUOTE) this.at = this.endOfString(from);
      else if (this.isNumber(from)) this.#number();
      else this.at += this.literalAt(from).length;
    }
  }

  /** Steps over one value. @returns it; but an object without its members, and of an array only the length. @throws {JsonError} */
  read(): unknown {
    const from = this.at;
    const code = this.code(from);
    if (code === OPEN_OBJECT) {
      this.value();
      return {};
    }
    if (code === OPEN_ARRAY) {
      let length = 0;
      for (let more = this.enterArray(); more; more = this.nextElement()) {
        this.value();
        length++;
      }
      return new Array(length);
    }
    this.#count();
    if (code === QUOTE) {
      this.at = this.endOfString(from);
      return this.contentOf(from, this.at);
    }
    if (this.isNumber(from)) {
      this.at = this.endOfNumber(from);
      const digits = this.slice(from, this.at);
      return this.#keepsDigits ? digits : Number(digits);
    }
    const literal = this.literalAt(from);
    this.at += literal.length;
    return VALUES[literal];
  }

  /** As `enterArray`, for a body's array of events: each of them may be as deep as one that comes alone. */
  enterBatch(): boolean {
    this.#depthMax++;
    return this.enterArray();
  }

  /** Steps from an array's bracket to the first element. @returns whether there is one; if not, it is behind the array. */
  enterArray(): boolean {
    const at = this.#open();
    if (this.code(at) === CLOSE_ARRAY) return this.#close(at);
    this.#path[this.#depth] = -1;
    this.at = at;
    return true;
  }

  /** Steps from behind an element to the next one. @returns whether there is one; if not, it is behind the array. */
  nextElement(): boolean {
    const at = this.skipSpace(this.at);
    const code = this.code(at);
    if (code === CLOSE_ARRAY) return this.#close(at);
    if (code !== COMMA) throw new JsonError('syntax', at);
    this.#path[this.#depth]!--;
    this.at = this.skipSpace(at + 1);
    return true;
  }

  /** Steps from an object's brace to the first member's value. @returns whether there is one; if not, it is behind the object. */
  enterObject(): boolean {
    const at = this.#open();
    return this.code(at) === CLOSE_OBJECT ? this.#close(at) : this.#name(at);
  }

  /** Steps from behind a member to the next one's value. @returns whether there is one; if not, it is behind the object. */
  nextMember(): boolean {
    const at = this.skipSpace(this.at);
    const code = this.code(at);
    if (code === CLOSE_OBJECT) return this.#close(at);
    if (code !== COMMA) throw new JsonError('syntax', at);
    return this.#name(this.skipSpace(at + 1));
  }

  /** Steps over white space. */
  space(): void {
    this.at = this.skipSpace(this.at);
  }

  /** The name of the member whose value it stands on. */
  get name(): string {
    return this.contentOf(this.nameFrom, this.#nameTo);
  }

  /** @returns which of these is the name of the member whose value it stands on, or -1. */
  nameIn(names: MemberNames): number {
    const { bytes, hasEscapes } = this;
    const from = this.nameFrom + 1;
    const index = names.find(bytes, from, this.#nameTo - 1 - from);
    // A name that is spelled with escapes is the one that it spells.
    return index < 0 && hasEscapes ? names.indexOf(this.name) : index;
  }

  /** Whether this stands here. */
  isAt(words: string): boolean {
    return this.slice(this.at, this.at + words.length) === words;
  }

  /** A path for people, such as `payload.x_ft`. */
  dotted(path: readonly number[]): string {
    return path.map((step) => (step < 0 ? `${-1 - step}` : this.#shortName(step))).join('.');
  }

  /** Long names are cut before they are decoded: a body can say one of 100 KiB before each of 20,000 numbers. */
  #shortName(from: number): string {
    const [start = ''] = NAME_START.exec(this.slice(from + 1, from + NAME_START_BYTES)) ?? [];
    const name = JSON.parse(`"${start}"`) as string;
    return name.length <= QUOTED_CHARS ? name : `${name.slice(0, QUOTED_CHARS)}…`;
  }

  #name(from: number): true {
    if (this.code(from) !== QUOTE) throw new JsonError('syntax', from);
    const to = this.endOfString(from);
    const colon = this.skipSpace(to);
    if (this.code(colon) !== COLON) throw new JsonError('syntax', colon);
    this.nameFrom = from;
    this.#nameTo = to;
    this.#path[this.#depth] = from;
    this.at = this.skipSpace(colon + 1);
    return true;
  }

  #number(): void {
    const from = this.at;
    this.at = this.endOfNumber(from);
    if (!this.isTooLarge(from, this.at)) return;
    this.tooLarge ??= { total: 0, paths: [] };
    if (++this.tooLarge.total > LISTED_FAULTS) return;
    const eventDepth = 1 + this.#depthMax - EVENT_DEPTH_LEVELS;
    this.tooLarge.paths.push(this.#path.slice(eventDepth, this.#depth + 1));
  }

  /** @returns the place behind the bracket and the white space there. */
  #open(): number {
    this.#count();
    if (++this.#depth > this.#depthMax) throw new JsonError('depth', this.at);
    return this.skipSpace(this.at + 1);
  }

  #close(at: number): false {
    this.#depth--;
    this.at = at + 1;
    return false;
  }

  #count(): void {
    if (++this.#values > BODY_VALUES) throw new JsonError('values', this.at);
  }
}

/** As many characters of a name as a path shows, and one that says that there are more; each takes up to six bytes. */
const NAME_START = new RegExp(`^(?:[^"\\\\]|\\\\u.{4}|\\\\[^u]){0,${QUOTED_CHARS + 1}}`);
const NAME_START_BYTES = 1 + 6 * (QUOTED_CHARS + 1);
