/** Keys that one flush step writes: 5 to 15 ms (measured). */
export const FLUSH_STEP_KEYS = 4_000;

/** What identifies an event (spec 2.3), with the session interned and the event_id hashed. */
export interface Key {
  readonly session: number;
  /** Of the event_id (keyHash.ts). */
  readonly hash: number;
  readonly revision: number;
}

/** A key with the seq of its event. */
export interface KeyEntry extends Key {
  readonly seq: number;
}

/**
 * Mixes a key into 32 bits with the finaliser of MurmurHash3. The two halves of the revision enter in rounds of
 * their own, so that without the secret of the key hash nobody can choose sessions and revisions that collide.
 */
export function mix({ session, hash, revision }: Key): number {
  let mixed = hash ^ Math.imul(session, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b) ^ (revision / 2 ** 32);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x27d4eb2f) ^ revision;
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

const NO_SEQS: readonly number[] = [];
const FIRST_CAPACITY = 1024;
/** `sortedBy` packs positions below this into a double. MEMTABLE_KEYS_MAX is far lower. */
const CAPACITY_MAX = 2 ** 21;

/**
 * The keys of recent events in memory, in order of arrival, with a hash table (linear probing) over them. They
 * are in typed arrays, which the garbage collector does not scan: 36 bytes for each key that there is room for.
 */
export class Memtable {
  #length = 0;
  #sessions = new Float64Array(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);
  /** Doubles hold every revision exactly (REVISION_MAX). */
  #revisions = new Float64Array(FIRST_CAPACITY);
  #seqs = new Float64Array(FIRST_CAPACITY);
  /** Hash table of positions plus one; 0 is an empty slot. At most half of the slots are in use. */
  #slots = new Int32Array(2 * FIRST_CAPACITY);

  /** Number of keys. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds a key, even where there is an equal one: whether their events are the same, the rows decide.
   * @throws {RangeError} beyond CAPACITY_MAX keys.
   */
  add(key: KeyEntry): void {
    if (this.#length === this.#hashes.length) this.#grow();
    const i = this.#length++;
    this.#sessions[i] = key.session;
    this.#hashes[i] = key.hash;
    this.#revisions[i] = key.revision;
    this.#seqs[i] = key.seq;
    this.#fillSlot(i, key);
  }

  /** @returns the seqs of all equal keys. */
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

  /**
   * Removes the newest keys.
   * @param length how many to leave.
   */
  truncate(length: number): void {
    const mask = this.#slots.length - 1;
    // Newest first: no older key was placed by probing past the slot of a newer one, so clearing that slot
    // breaks no probe sequence.
    while (this.#length > length) {
      const i = --this.#length;
      let at = mix(this.#key(i)) & mask;
      while (this.#slots[at] !== i + 1) at = (at + 1) & mask;
      this.#slots[at] = 0;
    }
  }

  /** The highest seq; 0 without keys. */
  get lastSeq(): number {
    return this.#seqs.subarray(0, this.#length).reduce((a, b) => Math.max(a, b), 0);
  }

  /**
   * @yields all keys, by session, then by hash. A large session is sorted in parts, because sorting it at
   * once would block the event loop.
   */
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

  /** @returns the positions in parts; all hashes of a part are higher than those of the part before. */
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
    this.#revisions = copyInto(this.#revisions, new Float64Array(capacity));
    this.#seqs = copyInto(this.#seqs, new Float64Array(capacity));
    this.#slots = new Int32Array(2 * capacity);
    for (let i = 0; i < this.#length; i++) this.#fillSlot(i, this.#key(i));
  }
}

/** A loop, because `Int32Array.from` with a function takes ten times as long. */
function indices(length: number): Int32Array {
  const positions = new Int32Array(length);
  for (let i = 0; i < length; i++) positions[i] = i;
  return positions;
}

/**
 * Sorts positions by value, packed into doubles (the value above the position, within 53 bits): sorting plain
 * numbers takes a tenth of the time of a comparison function.
 */
function sortedBy(positions: ArrayLike<number>, values: ArrayLike<number>): Int32Array {
  const packed = new Float64Array(positions.length);
  for (let i = 0; i < packed.length; i++) packed[i] = values[positions[i]!]! * CAPACITY_MAX + positions[i]!;
  packed.sort();
  const sorted = new Int32Array(packed.length);
  for (let i = 0; i < sorted.length; i++)
    sorted[i] = packed[i]! - Math.floor(packed[i]! / CAPACITY_MAX) * CAPACITY_MAX;
  return sorted;
}

/** @param to at least as long. @returns it. */
export function copyInto<To extends Float64Array | Int32Array | Uint32Array>(from: To, to: To): To {
  to.set(from);
  return to;
}
