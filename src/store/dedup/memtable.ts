import { FLUSH_STEP_KEYS } from '../../base/limits.ts';

/** What an event is found by (spec 2.3, dedupIndex.ts). */
export interface Key {
  readonly session: number;
  /** Of its event_id (keyHash.ts). */
  readonly hash: number;
  readonly revision: number;
}

/** A key, and the event that it leads to. */
export interface KeyOfEvent extends Key {
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

const NONE: readonly number[] = [];
const FIRST_CAPACITY = 1024;
/** What `sortedBy` can tell apart; LIVE_KEYS_MAX is far below. */
const MOST = 2 ** 21;

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
  add(key: KeyOfEvent): void {
    if (this.#length === this.#hashes.length) this.#grow();
    const i = this.#length++;
    this.#sessions[i] = key.session;
    this.#hashes[i] = key.hash;
    this.#revisions[i] = key.revision;
    this.#seqs[i] = key.seq;
    this.#enter(i, key);
  }

  /** @returns where the events may be. */
  seqs(key: Key): readonly number[] {
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
    return found ?? NONE;
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
  *inOrder(): Generator<KeyOfEvent> {
    const places = sortedBy(upTo(this.#length), this.#sessions);
    for (let from = 0, to = 0; from < places.length; from = to) {
      const session = this.#sessions[places[from]!]!;
      while (to < places.length && this.#sessions[places[to]!] === session) to++;
      for (const part of this.#byHash(places.subarray(from, to))) {
        for (const i of sortedBy(part, this.#hashes)) yield { ...this.#key(i), seq: this.#seqs[i]! };
      }
    }
  }

  /** @returns the same in parts, each with higher hashes than the one before. */
  #byHash(places: Int32Array): ArrayLike<number>[] {
    if (places.length <= FLUSH_STEP_KEYS) return [places];
    const parts: number[][] = Array.from({ length: 64 }, () => []);
    for (const i of places) parts[(this.#hashes[i]! >> 26) + 32]!.push(i);
    return parts;
  }

  #key(i: number): Key {
    return { session: this.#sessions[i]!, hash: this.#hashes[i]!, revision: this.#revisions[i]! };
  }

  #enter(i: number, key: Key): void {
    const mask = this.#slots.length - 1;
    let at = mix(key) & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = i + 1;
  }

  #grow(): void {
    const capacity = 2 * this.#hashes.length;
    if (capacity > MOST) throw new RangeError('too many keys in memory');
    this.#sessions = copied(this.#sessions, new Float64Array(capacity));
    this.#hashes = copied(this.#hashes, new Int32Array(capacity));
    this.#revisions = copied(this.#revisions, new Int32Array(capacity));
    this.#seqs = copied(this.#seqs, new Float64Array(capacity));
    this.#slots = new Int32Array(2 * capacity);
    for (let i = 0; i < this.#length; i++) this.#enter(i, this.#key(i));
  }
}

/** By a loop: `from` with a function takes ten times as long. */
function upTo(length: number): Int32Array {
  const places = new Int32Array(length);
  for (let i = 0; i < length; i++) places[i] = i;
  return places;
}

/** As plain numbers, which are sorted in a tenth of the time: the value above the place, in the 53 bits of a double. */
function sortedBy(places: ArrayLike<number>, values: ArrayLike<number>): Int32Array {
  const packed = new Float64Array(places.length);
  for (let i = 0; i < packed.length; i++) packed[i] = values[places[i]!]! * MOST + places[i]!;
  packed.sort();
  const sorted = new Int32Array(packed.length);
  for (let i = 0; i < sorted.length; i++) sorted[i] = packed[i]! - Math.floor(packed[i]! / MOST) * MOST;
  return sorted;
}

function copied<To extends Float64Array | Int32Array>(from: To, to: To): To {
  to.set(from);
  return to;
}
