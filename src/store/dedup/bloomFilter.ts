/**
 * A Bloom filter over 32-bit hashes, which the caller computes. Each hash sets two bits of a single word, so
 * a look-up costs one memory access.
 */
export class BloomFilter {
  /** 4 MiB. 5 bits of a hash select each of the two bits, 20 of the others the word. */
  readonly #words = new Uint32Array(2 ** 20);

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
