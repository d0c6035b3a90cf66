/** Keys that one flush step writes: 5 to 15 ms (measured). */
export const FLUSH_STEP_KEYS = 4_000;

/** What an event is found by (spec 2.3, dedupIndex.ts). */
export interface Key {
  readonly session: number;
  /** Of its event_id (keyHash.ts). */
  readonly hash: number;
  readonly revision: number;
}

/** A key, and the event that it leads to. */
export interface KeyEntry extends Key {
  readonly seq: number;
}

/**
 * Mixes a key into 32 bits (as MurmurHash3 ends), so that nobody who does not know the hash can choose sessions and revisions
 * that meet.
 */
export function mix({ session, hash, revision }: Key): number {
  let mixed = hash ^ Math.imul(session, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b) ^ revision;
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

const NO_SEQS: readonly number[] = [];
const FIRST_CAPACITY = 1024;
/** What `sortedBy` can tell apart; LIVE_KEYS_MAX is far below. */
const CAPACITY_MAX = 2 ** 21;

/**
 * Keys in memory, in the order in which they came, and a hash table with linear probing over them: 32 bytes a key, in plain
 * arrays that the garbage collector does not look into.
 */
export class Memtable {
  #length = 0;
  #sessions = new Float64Array(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);
  #revisions = new Int32Array(FIRST_CAPACITY);
  #seqs = new Float64Array(FIRST_CAPACITY);
  /** Numbers of keys, from 1 on; 0 is free. At most half of it is taken. */
  #slots = new Int32Array(2 * FIRST_CAPACITY);

  /** Keys. */
  get length(): number {
    return this.#length;
  }

  /** Also a second one for the same key: which of the events it is, they tell themselves. */
  add(key: KeyEntry): void {
    if (this.#length === this.#hashes.length) this.#grow();
    const i = this.#length++;
    this.#sessions[i] = key.session;
    this.#hashes[i] = key.hash;
    this.#revisions[i] = key.revision;
    this.#seqs[i] = key.seq;
    this.#fillSlot(i, key);
  }

  /** @returns where the events may be. */
  find(key: Key): readonly number[] {
    let found: number[] | undefined;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = mix(key) & mask; slots[at] !== 0; at = (at + 1) & mask) {
      const i = slots[at]! - 1;
      if (this.#hashes[i] !== key.hash || this.#revisions[i] !== key.revision) continue;
      if (this.#sessions[i] !== key.session) continue;
      found ??= [];
      found.push(this.#seqs[i]!);
    }
    return found ?? NO_SEQS;
  }

  /** Forgets the keys that came last, all but so many. */
  truncate(length: number): void {
    const mask = this.#slots.length - 1;
    // From the end: each was put behind those that were there before it, so nothing is looked for behind it.
    while (this.#length > length) {
      const i = --this.#length;
      let at = mix(this.#key(i)) & mask;
      while (this.#slots[at] !== i + 1) at = (at + 1) & mask;
      this.#slots[at] = 0;
    }
  }

  /** The highest. */
  get lastSeq(): number {
    return this.#seqs.subarray(0, this.#length).reduce((a, b) => Math.max(a, b), 0);
  }

  /** @yields all keys by session, then by hash; sorted piece by piece, because all at once would stop the event loop. */
  *inKeyOrder(): Generator<KeyEntry> {
    const positions = sortedBy(indices(this.#length), this.#sessions);
    for (let from = 0, to = 0; from < positions.length; from = to) {
      const session = this.#sessions[positions[from]!]!;
      while (to < positions.length && this.#sessions[positions[to]!] === session) to++;
      for (const part of this.#partitionByHash(positions.subarray(from, to))) {
        for (const i of sortedBy(part, this.#hashes)) yield { ...this.#key(i), seq: this.#seqs[i]! };
      }
    }
  }

  /** @returns the same in parts, each with higher hashes than the one before. */
  #partitionByHash(positions: Int32Array): ArrayLike<number>[] {
    if (positions.length <= FLUSH_STEP_KEYS) return [positions];
    const parts: number[][] = Array.from({ length: 64 }, () => []);
    for (const i of positions) parts[(this.#hashes[i]! >> 26) + 32]!.push(i);
    return parts;
  }

  #key(i: number): Key {
    return { session: this.#sessions[i]!, hash: this.#hashes[i]!, revision: this.#revisions[i]! };
  }

  #fillSlot(i: number, key: Key): void {
    const mask = this.#slots.length - 1;
    let at = mix(key) & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = i + 1;
  }

  #grow(): void {
    const capacity = 2 * this.#hashes.length;
    if (capacity > CAPACITY_MAX) throw new RangeError('the memtable is full');
    this.#sessions = copyInto(this.#sessions, new Float64Array(capacity));
    this.#hashes = copyInto(this.#hashes, new Int32Array(capacity));
    this.#revisions = copyInto(this.#revisions, new Int32Array(capacity));
    this.#seqs = copyInto(this.#seqs, new Float64Array(capacity));
    this.#slots = new Int32Array(2 * capacity);
    for (let i = 0; i < this.#length; i++) this.#fillSlot(i, this.#key(i));
  }
}

/** By a loop: `from` with a function takes ten times as long. */
function indices(length: number): Int32Array {
  const positions = new Int32Array(length);
  for (let i = 0; i < length; i++) positions[i] = i;
  return positions;
}

/** As plain numbers, which are sorted in a tenth of the time: the value above the place, in the 53 bits of a double. */
function sortedBy(positions: ArrayLike<number>, values: ArrayLike<number>): Int32Array {
  const packed = new Float64Array(positions.length);
  for (let i = 0; i < packed.length; i++) packed[i] = values[positions[i]!]! * CAPACITY_MAX + positions[i]!;
  packed.sort();
  const sorted = new Int32Array(packed.length);
  for (let i = 0; i < sorted.length; i++)
    sorted[i] = packed[i]! - Math.floor(packed[i]! / CAPACITY_MAX) * CAPACITY_MAX;
  return sorted;
}

function copyInto<To extends Float64Array | Int32Array>(from: To, to: To): To {
  to.set(from);
  return to;
}
