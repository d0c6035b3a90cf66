const [LENGTHS, CODES] = [16, 128];

/** Members' names to look for in JSON text, without making a string of each that is there. ASCII, shorter than 16. */
export class MemberNames {
  readonly #names: readonly string[];
  readonly #bytes: readonly Buffer[];
  /** By length and first byte, which no two of them share. */
  readonly #candidates: readonly number[];

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#bytes = names.map((name) => Buffer.from(name));
    const candidates = new Array<number>(LENGTHS * CODES).fill(-1);
    for (const [i, name] of names.entries()) candidates[name.length * CODES + name.charCodeAt(0)] = i;
    this.#candidates = candidates;
  }

  /** @returns which of them stands there, or -1. */
  find(bytes: Buffer, from: number, length: number): number {
    const first = bytes[from]!;
    if (length >= LENGTHS || first >= CODES) return -1;
    const index = this.#candidates[length * CODES + first]!;
    if (index < 0) return -1;
    const name = this.#bytes[index]!;
    for (let i = 1; i < length; i++) if (bytes[from + i] !== name[i]) return -1;
    return index;
  }

  indexOf(name: string): number {
    return this.#names.indexOf(name);
  }
}
