/** A key for each length below 16 and each ASCII character. */
const [LENGTHS, CODES] = [16, 128];

/** Finds names of members in JSON text without a string for each. No two of them share their length and their first character. */
export class MemberNames {
  readonly #names: readonly Buffer[];
  /** The index of a name, by its length and its first byte. */
  readonly #candidates = new Array<number>(LENGTHS * CODES).fill(-1);

  constructor(names: readonly string[]) {
    this.#names = names.map((name) => Buffer.from(name));
    for (const [index, name] of this.#names.entries())
      this.#candidates[name.length * CODES + name[0]!] = index;
  }

  /** @returns the index of the name between two offsets of a text; -1 if it is none of them. */
  find(text: Buffer, from = 0, to = text.length): number {
    const index = this.#candidates[(to - from) * CODES + text[from]!] ?? -1;
    if (index < 0) return -1;
    const name = this.#names[index]!;
    for (let i = 0; i < name.length; i++) if (text[from + i] !== name[i]) return -1;
    return index;
  }
}
