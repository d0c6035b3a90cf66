import { REJECTION_BODY_BYTES, REJECTIONS_BYTES, REJECTIONS_KEPT } from '../base/limits.ts';
import { ownCopy } from '../base/ownMemory.ts';
import { DAY_MS } from '../base/units.ts';
import { type LogFields, type LoggedProblem, PROBLEMS, type ProblemCode } from '../protocol/errors.ts';
import type { Rejection, RejectionChanges } from '../store/rejections/storedRejections.ts';
import { type Age, oldAmong } from '../store/retention/ageRule.ts';
import { SlidingCounts } from './slidingCounts.ts';

/** Bytes that are freed at once where the total is too large. */
const ROOM_BYTES = REJECTIONS_BYTES / 16;
/** Memory that a rejection takes besides its texts and its body. */
const OVERHEAD_BYTES = 300;
/** Bodies of one kind that are copied within a second; in a flood, more of the same tell nothing new. */
const BODIES_PER_S = 100;
/** Rejections of one kind that one write takes at most, the newest first; the last write before the daemon ends takes all. */
const WRITTEN_OF_A_KIND = 20;
const ALL = 0;

interface Kept extends Rejection {
  isStored: boolean;
}

type Names = Pick<Rejection, 'code' | 'client' | 'source' | 'courtId'>;

/** Refused requests of one code and client, and of one camera where that could be read. */
interface Kind {
  readonly key: string;
  readonly names: Names;
  /** How many there were within the last day, since the start of the process. */
  readonly day: SlidingCounts;
  /** When the last one was, by the monotonic clock. */
  lastAt: number;
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
  readonly problem: LoggedProblem;
  /** Of its first invalid event, or else of its first event; empty where they could not be read. */
  readonly camera: LogFields;
  /** What was read of its body; undefined where nothing was. Only its first bytes are kept, as a copy. */
  readonly body: Buffer | undefined;
  /** The token that the client sent: removed from the body. The other members come without it. */
  readonly token: string | undefined;
}

/** Refused requests of one kind in the last day, as in `courtd status --json`. */
export interface RefusalReport {
  readonly code: ProblemCode;
  readonly client: string;
  readonly source: string | null;
  readonly court_id: string | null;
  readonly requests: number;
  readonly last_at: string;
  readonly ago_s: number;
  /** Whether a request of this client has been accepted since. */
  readonly is_over: boolean;
  /** The error of the latest one. */
  readonly error: string;
}

/**
 * The book of refused requests: how many, of which kind, and the last ones themselves. The log's summary, the status, the metrics
 * and `courtd rejections` all read it.
 *
 * At most REJECTIONS_KEPT requests are kept, in memory. When it is full, the largest kind loses its oldest one, so that a flood of
 * one kind evicts nothing else; a kind goes with its last one. Every refusal passes here: its cost grows with the kinds, which are
 * few, not with what is kept.
 */
export class RefusalBook {
  /** Refused requests since the start of the process. These only grow. */
  readonly byCode = Object.fromEntries(Object.keys(PROBLEMS).map((code) => [code, 0])) as Record<
    ProblemCode,
    number
  >;
  readonly #minute = new SlidingCounts(1, 60, 1_000);
  readonly #kinds = new Map<string, Kind>();
  #count = 0;
  #bytes = 0;
  #turn: number;
  #gone: number[] = [];
  #isChanged = false;

  /** @param before the rejections that the previous daemon stored, the oldest first. @param nowMs @param now as in `add`. */
  constructor(before: readonly Rejection[] = [], nowMs = 0, now = 0) {
    this.#turn = (before.at(-1)?.turn ?? 0) + 1;
    for (const one of before) {
      const kind = this.#kindOf(one);
      this.#keep(kind, { ...one, isStored: true });
      const agoMs = Math.max(0, nowMs - one.atMs);
      kind.lastAt = now - agoMs;
      if (agoMs < DAY_MS) kind.day.add(kind.lastAt, ALL, 1);
    }
  }

  /** @param nowMs by the box's clock. @param now of the monotonic clock, in milliseconds. */
  add(refused: RefusedRequest, nowMs: number, now: number): void {
    const { id, client, problem, camera, body, token } = refused;
    const { source = null, court_id = null, events = null } = camera;
    const kind = this.#kindOf({ code: problem.code, client, source, courtId: court_id });
    this.byCode[problem.code]++;
    this.#minute.add(now, ALL, 1);
    kind.day.add(now, ALL, 1);
    kind.lastAt = now;
    const last = kind.kept.at(-1);
    const copy = body !== undefined && mayCopy(kind, now) ? copyOf(body, token) : null;
    const isWhole = copy !== null && body !== undefined && body.length <= REJECTION_BODY_BYTES;
    this.#isChanged = true;
    this.#keep(kind, {
      ...kind.names,
      turn: this.#turn++,
      id,
      atMs: nowMs,
      status: problem.status,
      events,
      error: last?.error === problem.message ? last.error : ownText(problem.message),
      body: copy,
      // Removing a token may have changed its size.
      bodyBytes: isWhole ? copy.length : (body?.length ?? null),
      isStored: false,
    });
  }

  /** @param now of the monotonic clock. @returns how many there were in the last minute. */
  lastMinute(now: number): number {
    return this.#minute.sum(now, ALL);
  }

  /**
   * @param nowMs by the box's clock.
   * @param acceptedAt when a client last got a 202, by the monotonic clock.
   * @returns the kinds of the last day, those with the most requests first.
   */
  report(now: number, nowMs: number, acceptedAt: (client: string) => number): RefusalReport[] {
    return [...this.#kinds.values()]
      .map(({ names, day, lastAt, kept }) => ({
        code: names.code as ProblemCode,
        client: names.client,
        source: names.source,
        court_id: names.courtId,
        requests: day.sum(now, ALL),
        last_at: new Date(nowMs - (now - lastAt)).toISOString(),
        ago_s: Math.round((now - lastAt) / 1_000),
        is_over: acceptedAt(names.client) > lastAt,
        error: kept.at(-1)!.error,
      }))
      .filter(({ requests }) => requests > 0)
      .sort((a, b) => b.requests - a.requests);
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
    return this.forgetAll(oldAmong(this.#newestFirst().reverse(), ({ atMs }) => atMs, age));
  }

  /** Forgets these, which it has returned. @returns how many. */
  forgetAll(ones: readonly Rejection[]): number {
    for (const one of ones) {
      const kind = this.#kindOf(one);
      this.#drop(kind, kind.kept.indexOf(one as Kept));
    }
    if (ones.length > 0) this.#isChanged = true;
    return ones.length;
  }

  /** Whether there is anything that the database lacks, or has and should not. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /**
   * Writes what the database lacks, the newest first.
   * @param write returns whether the changes are on disk.
   * @param maxBytes of what is to be written; infinite: all there is.
   */
  flush(write: (changes: RejectionChanges) => boolean, maxBytes: number): void {
    const ofAKind = maxBytes === Number.POSITIVE_INFINITY ? REJECTIONS_KEPT : WRITTEN_OF_A_KIND;
    const added: Kept[] = [];
    let [lacking, bytes] = [0, 0];
    const ofKind = (kept: readonly Kept[]) => {
      const missing = kept.filter(({ isStored }) => !isStored);
      lacking += missing.length;
      return missing.slice(-ofAKind);
    };
    for (const one of this.#newestFirst(ofKind)) {
      bytes += bytesOf(one);
      if (bytes > maxBytes && added.length > 0) break;
      added.push(one);
    }
    const isWritten = added.length + this.#gone.length === 0 || write({ added, gone: this.#gone });
    this.#isChanged = !isWritten || added.length < lacking;
    if (!isWritten) return;
    for (const one of added) one.isStored = true;
    this.#gone = [];
  }

  #newestFirst(some = (kept: readonly Kept[]): readonly Kept[] => kept): Kept[] {
    return [...this.#kinds.values()].flatMap(({ kept }) => some(kept)).sort((a, b) => b.turn - a.turn);
  }

  #kindOf({ code, client, source, courtId }: Names): Kind {
    const key = `${code}\n${client}\n${source ?? ''}\n${courtId ?? ''}`;
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const names = { code, client, source: ownText(source), courtId: ownText(courtId) };
    const day = new SlidingCounts(1, 48, 1_800_000);
    const made = { key, names, day, lastAt: 0, kept: [], bytes: 0, second: 0, copied: 0 };
    this.#kinds.set(key, made);
    return made;
  }

  #keep(kind: Kind, kept: Kept): void {
    if (this.#count >= REJECTIONS_KEPT) this.#drop(this.#largest(kind));
    // It may just have lost its only one.
    this.#kinds.set(kind.key, kind);
    kind.kept.push(kept);
    this.#count++;
    this.#weigh(kind, bytesOf(kept));
    if (this.#bytes > REJECTIONS_BYTES) this.#makeRoom();
  }

  /**
   * Frees memory from the kinds that use the most: more than is needed, since finding them goes through all kinds. A kind is left
   * with its newest one, unless even a single one is the heaviest.
   */
  #makeRoom(): void {
    while (this.#bytes > REJECTIONS_BYTES - ROOM_BYTES) {
      let heaviest: Kind | undefined;
      for (const kind of this.#kinds.values()) if (kind.bytes > (heaviest?.bytes ?? 0)) heaviest = kind;
      if (heaviest === undefined) return;
      const upTo = heaviest.bytes - ROOM_BYTES / 4;
      do this.#drop(heaviest);
      while (heaviest.kept.length > 1 && heaviest.bytes > upTo);
    }
  }

  /**
   * @returns the kind that has the most; of equals `kind`, or else the oldest of the same code: any number of strangers without a
   * token evict only each other.
   */
  #largest(kind: Kind): Kind {
    const { code } = kind.names;
    let largest = kind;
    let isLike = true;
    for (const one of this.#kinds.values()) {
      const more = one.kept.length - largest.kept.length;
      if (more < 0 || (more === 0 && (isLike || one.names.code !== code))) continue;
      largest = one;
      isLike = one.names.code === code;
    }
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
function copyOf(body: Buffer, token: string | undefined): Buffer {
  // A token that would be cut off in the middle is left out as a whole. Removing others before it would otherwise keep part of it.
  const reach = body.subarray(0, REJECTION_BODY_BYTES + (token?.length ?? 0));
  const last = token === undefined ? -1 : reach.lastIndexOf(token, REJECTION_BODY_BYTES - 1);
  const isCut = last >= 0 && last + token!.length > REJECTION_BODY_BYTES;
  const head = reach.subarray(0, isCut ? last : REJECTION_BODY_BYTES);
  if (token === undefined || !head.includes(token)) return ownCopy(head);
  const text = head.toString('latin1').replaceAll(token, '(token removed)');
  return Buffer.from(text, 'latin1').subarray(0, REJECTION_BODY_BYTES);
}

/** @returns a copy of a text: a slice of a body would keep the whole body in memory. */
function ownText<Text extends string | null>(text: Text): Text | string {
  return text === null ? text : Buffer.from(text).toString();
}

function bytesOf({ error, source, courtId, body }: Kept): number {
  const chars = error.length + (source?.length ?? 0) + (courtId?.length ?? 0);
  return OVERHEAD_BYTES + 2 * chars + (body?.length ?? 0);
}
