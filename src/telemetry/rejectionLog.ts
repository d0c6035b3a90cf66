import { REJECTION_BODY_BYTES, REJECTIONS_BYTES, REJECTIONS_KEPT } from '../base/limits.ts';
import type { Problem } from '../protocol/errors.ts';
import type { Rejection, RejectionChanges } from '../store/rejections/storedRejections.ts';
import { type Age, expiredAmong } from '../store/retention/ageRule.ts';

/** Bytes that are freed at once where the total is too large. */
const ROOM_BYTES = REJECTIONS_BYTES / 16;
/** Memory that a rejection takes besides its texts and its body. */
const OVERHEAD_BYTES = 300;
/** Bodies of one kind that are copied within a second; in a flood, more of the same tell nothing new. */
const BODIES_PER_S = 100;
/** Rejections of one kind that one write takes at most, the newest; the last write before the daemon ends takes all. */
const WRITTEN_OF_A_KIND = 20;

type Kept = { -readonly [Name in keyof Rejection]: Rejection[Name] } & {
  isStored: boolean;
};

/** Refused requests of one code, client and source. */
interface Kind {
  readonly key: string;
  readonly code: string;
  readonly client: string;
  readonly source: string | null;
  /** The oldest first. */
  readonly kept: Kept[];
  bytes: number;
  /** The second of the monotonic clock in which bodies were last copied, and how many in it. */
  second: number;
  copied: number;
}

export interface RefusedRequest {
  readonly id: string;
  readonly client: string;
  readonly problem: Pick<Problem, 'code' | 'status' | 'message'>;
  readonly source: string | null;
  readonly courtId: string | null;
  readonly events: number | null;
  /** What was read of its body; undefined where nothing was. Only its first bytes are kept, as a copy. */
  readonly body: Buffer | undefined;
  /** The token that the client sent: removed from the body. The other members come without it. */
  readonly token: string | undefined;
}

/**
 * The last refused requests, in memory, at most REJECTIONS_KEPT. When it is full, the largest kind loses its oldest one, so that a
 * flood of one kind evicts nothing else. Every refusal passes here: its cost grows with the kinds, which are few, not with what is kept.
 */
export class RejectionLog {
  readonly #kinds = new Map<string, Kind>();
  #count = 0;
  #bytes = 0;
  #turn: number;
  #gone: number[] = [];
  #isChanged = false;

  /** @param before the rejections that the previous daemon stored, the oldest first. */
  constructor(before: readonly Rejection[] = []) {
    this.#turn = (before.at(-1)?.turn ?? 0) + 1;
    for (const { code, client, source, ...rest } of before)
      this.#keep(this.#kindOf(code, client, source), rest, true);
  }

  /** @param nowMs by the box's clock. @param now of the monotonic clock, in milliseconds. */
  add(refused: RefusedRequest, nowMs: number, now: number): void {
    const { id, client, problem, source, courtId, events, body, token } = refused;
    const kind = this.#kindOf(problem.code, client, source);
    const last = kind.kept.at(-1);
    const copy = body !== undefined && mayCopy(kind, now) ? headOf(body, token) : null;
    const isWhole = copy !== null && body !== undefined && body.length <= REJECTION_BODY_BYTES;
    const kept = {
      turn: this.#turn++,
      id,
      atMs: nowMs,
      status: problem.status,
      courtId: last?.courtId === courtId ? last.courtId : ownText(courtId),
      events,
      error: last?.error === problem.message ? last.error : ownText(problem.message),
      body: copy,
      // Removing a token may have changed its size.
      bodyBytes: isWhole ? copy.length : (body?.length ?? null),
    };
    this.#isChanged = true;
    this.#keep(kind, kept, false);
  }

  /** @returns the newest ones, newest first. */
  newest(count: number): Rejection[] {
    return this.#newestFirst().slice(0, count);
  }

  find(id: string): Rejection | undefined {
    return this.#newestFirst().find((one) => one.id === id);
  }

  /** Forgets those that are as old as the events that a prune deletes. @returns how many. */
  forget(age: Age): number {
    const all = this.#newestFirst().reverse();
    const times = all.map(({ atMs }) => atMs);
    const isOld = expiredAmong(times, undefined, age);
    const old = new Set(all.filter((_, i) => isOld[i]));
    for (const kind of [...this.#kinds.values()]) {
      for (let at = kind.kept.length - 1; at >= 0; at--) if (old.has(kind.kept[at]!)) this.#drop(kind, at);
    }
    if (old.size > 0) this.#isChanged = true;
    return old.size;
  }

  /** Whether there is anything that was not yet offered to the database. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /**
   * @param maxBytes of what is to be written; infinite: all there is.
   * @returns what the database lacks, the newest first, and a callback for whether it was written.
   */
  changes(maxBytes: number): RejectionChanges & { readonly done: (isWritten: boolean) => void } {
    const isAll = maxBytes === Number.POSITIVE_INFINITY;
    const added: Kept[] = [];
    let bytes = 0;
    for (const one of this.#newestFirst(isAll ? REJECTIONS_KEPT : WRITTEN_OF_A_KIND)) {
      if (one.isStored) continue;
      bytes += bytesOf(one);
      if (bytes > maxBytes && added.length > 0) break;
      added.push(one);
    }
    const gone = this.#gone;
    this.#isChanged = false;
    const done = (isWritten: boolean) => {
      if (!isWritten) {
        this.#isChanged = true;
        return;
      }
      for (const one of added) one.isStored = true;
      this.#gone = this.#gone.slice(gone.length);
    };
    return {
      added: added.map(({ isStored: _isStored, ...rejection }) => rejection),
      gone,
      done,
    };
  }

  /** @param ofAKind how many of each kind at most. */
  #newestFirst(ofAKind = REJECTIONS_KEPT): Kept[] {
    const all = [...this.#kinds.values()].flatMap(({ kept }) => kept.slice(-ofAKind));
    return all.sort((a, b) => b.turn - a.turn);
  }

  #kindOf(code: string, client: string, source: string | null): Kind {
    const key = `${code}\n${client}\n${source ?? ''}`;
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const made = { key, code, client, source: ownText(source), kept: [], bytes: 0, second: 0, copied: 0 };
    this.#kinds.set(key, made);
    return made;
  }

  #keep(kind: Kind, what: Omit<Rejection, 'code' | 'client' | 'source'>, isStored: boolean): void {
    if (this.#count >= REJECTIONS_KEPT) this.#drop(this.#largest(kind));
    const { code, client, source } = kind;
    const kept: Kept = { ...what, code, client, source, isStored };
    // It may just have lost its only one.
    this.#kinds.set(kind.key, kind);
    kind.kept.push(kept);
    this.#count++;
    this.#weigh(kind, bytesOf(kept));
    if (this.#bytes > REJECTIONS_BYTES) this.#makeRoom();
  }

  /** Frees memory from the kinds that use the most. More than is needed, since finding them goes through all kinds. */
  #makeRoom(): void {
    while (this.#bytes > REJECTIONS_BYTES - ROOM_BYTES) {
      let heaviest: Kind | undefined;
      for (const kind of this.#kinds.values()) if (kind.bytes > (heaviest?.bytes ?? 0)) heaviest = kind;
      if (heaviest === undefined) return;
      const upTo = heaviest.bytes - ROOM_BYTES / 4;
      while (heaviest.kept.length > 0 && heaviest.bytes > upTo) this.#drop(heaviest);
    }
  }

  /** @returns the kind that has the most; of equals `kind`, or else the one that has been there for longest. */
  #largest(kind: Kind): Kind {
    let largest = kind;
    for (const one of this.#kinds.values()) if (one.kept.length > largest.kept.length) largest = one;
    return largest;
  }

  /** @param at its place; 0 is the oldest. */
  #drop(kind: Kind, at = 0): void {
    const [dropped] = kind.kept.splice(at, 1);
    this.#count--;
    if (kind.kept.length === 0) this.#kinds.delete(kind.key);
    this.#weigh(kind, -bytesOf(dropped!));
    if (dropped!.isStored) this.#gone.push(dropped!.turn);
  }

  #weigh(kind: Kind, bytes: number): void {
    kind.bytes += bytes;
    this.#bytes += bytes;
  }
}

/** In a flood not all bodies are kept: copying them is the expensive part. */
function mayCopy(kind: Kind, now: number): boolean {
  const second = Math.floor(now / 1_000);
  if (second !== kind.second) {
    kind.second = second;
    kind.copied = 0;
  }
  return ++kind.copied <= BODIES_PER_S;
}

/** @returns a copy: what is read from a connection is a part of a larger buffer. */
function headOf(body: Buffer, token: string | undefined): Buffer {
  // A token that would be cut off in the middle is left out as a whole. Removing others before it would otherwise keep part of it.
  const reach = body.subarray(0, REJECTION_BODY_BYTES + (token?.length ?? 0));
  const last = token === undefined ? -1 : reach.lastIndexOf(token, REJECTION_BODY_BYTES - 1);
  const isCut = last >= 0 && last + token!.length > REJECTION_BODY_BYTES;
  const head = reach.subarray(0, isCut ? last : REJECTION_BODY_BYTES);
  if (token === undefined || !head.includes(token)) {
    const copy = Buffer.allocUnsafeSlow(head.length);
    head.copy(copy);
    return copy;
  }
  const text = head.toString('latin1').replaceAll(token, '(token removed)');
  return Buffer.from(text, 'latin1').subarray(0, REJECTION_BODY_BYTES);
}

/** @returns a copy of a text: a slice of a body would keep the whole body in memory. */
export function ownText<Text extends string | null>(text: Text): Text | string {
  return text === null ? text : Buffer.from(text).toString();
}

function bytesOf({ error, source, courtId, body }: Kept): number {
  const chars = error.length + (source?.length ?? 0) + (courtId?.length ?? 0);
  return OVERHEAD_BYTES + 2 * chars + (body?.length ?? 0);
}
