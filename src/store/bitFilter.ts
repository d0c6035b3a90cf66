/** Tells of most numbers for certain that they were not added: one bit for each of them. */
export class BitFilter {
  readonly #words: Uint32Array;

  /** @param bits rounded up to a power of two, at least 32. */
  constructor(bits: number) {
    this.#words = new Uint32Array(2 ** Math.ceil(Math.log2(bits)) / 32);
  }

  /** @param hash a 32-bit integer. */
  add(hash: number): void {
    const at = (hash >>> 5) & (this.#words.length - 1);
    this.#words[at] = this.#words[at]! | (1 << (hash & 31));
  }

  mayHold(hash: number): boolean {
    return (this.#words[(hash >>> 5) & (this.#words.length - 1)]! & (1 << (hash & 31))) !== 0;
  }
}
