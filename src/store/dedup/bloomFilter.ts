/**
 * A Bloom filter over 32-bit hashes, which the caller computes. Each hash sets two bits of a single word, so
 * a look-up costs one memory access.
 */
export class BloomFilter {
  readonly #words: Uint32Array;

  /**
   * @param bits rounded up to a power of two, from 32 to 2^27: 5 bits of a hash select each of the two bits,
   * the others the word.
   */
  constructor(bits: number) {
    this.#words = new Uint32Array(2 ** Math.ceil(Math.log2(bits)) / 32);
  }

  /** @param hash a 32-bit integer. */
  add(hash: number): void {
    const at = (hash >>> 5) & (this.#words.length - 1);
    this.#words[at] = this.#words[at]! | bitPair(hash);
  }

  /** @returns false only if `hash` was never added; true may be a false positive. */
  mayContain(hash: number): boolean {
    const bits = bitPair(hash);
    return (this.#words[(hash >>> 5) & (this.#words.length - 1)]! & bits) === bits;
  }
}

function bitPair(hash: number): number {
  return (1 << (hash & 31)) | (1 << (hash >>> 27));
}
