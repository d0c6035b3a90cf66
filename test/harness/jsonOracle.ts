/**
 * The tests' own JSON parser (RFC 8259), slow and plain: JSON.parse rounds numbers, and after a name with a backslash it
 * gives that name to members of later texts (nodejs/node#63785). Of duplicate members the last one counts.
 *
 * @param number makes the value of a number from its source text.
 * @throws {SyntaxError}
 */
export function parseJson(text: string, number: (source: string) => unknown): unknown {
  return new Parser(text, number).whole();
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
  #at = 0;

  constructor(text: string, number: (source: string) => unknown) {
    this.#text = text;
    this.#number = number;
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
      object[name] = this.#value();
    });
    return object;
  }

  #array(): unknown[] {
    const array: unknown[] = [];
    this.#list(']', () => array.push(this.#value()));
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
    throw new SyntaxError(`not JSON at character ${this.#at}`);
  }
}
