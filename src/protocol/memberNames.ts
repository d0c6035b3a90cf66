/** Table dimensions: lengths of names, and ASCII codes of their first character. */
const [LENGTHS, CODES] = [16, 128];

/** Finds known member names in JSON text without creating a string for each name. ASCII, shorter than 16 bytes. */
export class MemberNames {
  readonly #names: readonly string[];
  readonly #bytes: readonly Buffer[];
  /** The index of a name by its length and first byte, which no two names share; -1 if there is none. */
  readonly #candidates: readonly number[];

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#bytes = names.map((name) => Buffer.from(name));
    const candidates = new Array<number>(LENGTHS * CODES).fill(-1);
    for (const [i, name] of names.entries()) candidates[name.length * CODES + name.charCodeAt(0)] = i;
    this.#candidates = candidates;
  }

  /** @returns the index of the name that these bytes are, or -1. */
  find(bytes: Buffer, from: number, length: number): number {
    const first = bytes[from]!;
    if (length >= LENGTHS || first >= CODES) return -1;
    const index = this.#candidates[length * CODES + first]!;
    if (index < 0) return -1;
    const name = this.#bytes[index]!;
    for (let i = 1; i < length; i++) if (bytes[from + i] !== name[i]) return -1;
    return index;
  }

  /** The same for a name that was written with escapes, once it is decoded. */
  findDecoded(name: string): number {
    return this.#names.indexOf(name);
  }
}
