/**
 * A JSON parser (RFC 8259) for the few bodies that JSON.parse would damage. Two kinds of them:
 * - a number that a double cannot hold: JSON.parse rounds it; here its source text is at hand.
 * - a member's name with a backslash in it: after one, V8's JSON.parse gives that name to members of *later* texts
 *   whose names are spelled with escapes (nodejs/node#63785). Such text must never reach it in this process.
 * Ten times slower than JSON.parse, and the same value otherwise: of duplicate members the last one, `__proto__` an
 * ordinary member.
 *
 * @param text nested no deeper than the stack bears: scanJson has bounded it.
 * @param number makes the value of a number from its source text.
 * @throws {JsonError}
 */
export function parseJson(text: string, number: (source: string) => unknown): unknown {
  const parser = new Parser(text, number);
  return parser.whole();
}

/**
 * Only looks whether it is JSON, and keeps nothing of it.
 * @throws {JsonError}
 */
export function checkJson(text: string): void {
  new Parser(text, () => 0, false).whole();
}

/** Not JSON, and where: a character's position from 0, the text's length where it ends too early. */
export class JsonError extends SyntaxError {
  readonly at: number;

  constructor(at: number) {
    super(`not JSON at character ${at}`);
    this.at = at;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
const LITERALS: readonly (readonly [text: string, value: unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

class Parser {
  readonly #text: string;
  readonly #number: (source: string) => unknown;
  readonly #keeps: boolean;
  #at = 0;

  constructor(text: string, number: (source: string) => unknown, keeps = true) {
    this.#text = text;
    this.#number = number;
    this.#keeps = keeps;
  }

  whole(): unknown {
    const value = this.#value();
    if (this.#at < this.#text.length) this.#fail();
    return value;
  }

  /** A value with the space around it. */
  #value(): unknown {
    this.#skipSpace();
    const value = this.#bareValue();
    this.#skipSpace();
    return value;
  }

  #bareValue(): unknown {
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#literal();
    }
  }

  #object(): object {
    // Without a prototype: __proto__ is a member like any other, and V8 keeps such objects out of the memory of
    // shapes from which its JSON.parse takes the wrong names.
    const object: Record<string, unknown> = Object.create(null);
    this.#list('}', () => {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') this.#fail();
      const name = this.#string();
      this.#skipSpace();
      if (!this.#take(':')) this.#fail();
      const value = this.#value();
      if (this.#keeps) object[name] = value;
    });
    return object;
  }

  #array(): unknown[] {
    const array: unknown[] = [];
    this.#list(']', () => {
      const value = this.#value();
      if (this.#keeps) array.push(value);
    });
    return array;
  }

  /** From the opening bracket to the closing one. */
  #list(close: string, item: () => void): void {
    this.#at++;
    this.#skipSpace();
    if (this.#take(close)) return;
    do item();
    while (this.#take(','));
    if (!this.#take(close)) this.#fail();
  }

  #string(): string {
    const open = this.#at;
    let close = this.#text.indexOf('"', open + 1);
    while (close >= 0 && this.#isEscaped(close)) close = this.#text.indexOf('"', close + 1);
    if (close < 0) {
      this.#at = this.#text.length;
      this.#fail();
    }
    this.#at = close + 1;
    try {
      // A string alone has no names, and JSON.parse knows its grammar.
      return JSON.parse(this.#text.slice(open, close + 1)) as string;
    } catch {
      this.#at = open;
      this.#fail();
    }
  }

  /** Whether an odd number of backslashes stands before. */
  #isEscaped(at: number): boolean {
    let backslashes = 0;
    while (this.#text[at - 1 - backslashes] === '\\') backslashes++;
    return backslashes % 2 === 1;
  }

  #literal(): unknown {
    for (const [text, value] of LITERALS) {
      if (!this.#text.startsWith(text, this.#at)) continue;
      this.#at += text.length;
      return value;
    }
    NUMBER.lastIndex = this.#at;
    const source = NUMBER.exec(this.#text)?.[0];
    if (source === undefined) this.#fail();
    this.#at += source.length;
    return this.#number(source);
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #fail(): never {
    throw new JsonError(this.#at);
  }
}
