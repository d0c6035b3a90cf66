/** Tells of most numbers for certain that they were not added: two bits of one word for each of them. */
export class BloomFilter {
  readonly #words: Uint32Array;

  /** @param bits rounded up to a power of two, from 32 to 2^27: the other bits of a hash say which bits of a word. */
  constructor(bits: number) {
    this.#words = new Uint32Array(2 ** Math.ceil(Math.log2(bits)) / 32);
  }

  /** @param hash a 32-bit integer. */
  add(hash: number): void {
    const at = (hash >>> 5) & (this.#words.length - 1);
    this.#words[at] = this.#words[at]! | bitPair(hash);
  }

  mayContain(hash: number): boolean {
    const bits = bitPair(hash);
    return (this.#words[(hash >>> 5) & (this.#words.length - 1)]! & bits) === bits;
  }
}

function bitPair(hash: number): number {
  return (1 << (hash & 31)) | (1 << (hash >>> 27));
}
