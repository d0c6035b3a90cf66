import type { Database } from 'better-sqlite3';
import { padded, placeholders } from '../sqlite/multiRowStatement.ts';

/** Keys, and eots, that one query of a sort reads: a millisecond or two. */
const SORT_READ_KEYS = 5_000;
export const SORT_READ_ROWS = 2_000;

/** Which events of a session; nanoseconds since 1970-01-01T00:00:00Z. */
export interface EotRange {
  /** Inclusive. */
  readonly fromNs: bigint;
  /** Exclusive. */
  readonly toNs: bigint;
}

/** All eots that 64 bits can hold. */
export const ALWAYS: EotRange = { fromNs: -(2n ** 63n), toNs: 2n ** 63n - 1n };

/** By source, its clock minus the right one, in milliseconds. */
export type ClockOffsets = ReadonlyMap<string, number>;

/** The events of a session in order. */
export interface EotOrder {
  /** Sorted by eot, then by arrival. */
  readonly seqs: Float64Array;
  /** The highest seq of all sessions when the read began; 0 without events. */
  readonly lastSeq: number;
}

/**
 * Finds the events of a session and sorts them by eot, then by arrival, in 16 bytes an event and some working
 * memory: an index in that order would cost ingest an eighth of its rate
 * (../../ARCHITECTURE.md#readers-sort). The table `key` leads to most events; the few after `flushed` are
 * scanned. Many short reads, so that none pins the WAL for long. The result has the events that were stored
 * when it began, less those that were pruned meanwhile.
 * @param clockOffsets sources whose events are put where a right clock would have put them; `range` is of eots as they were sent.
 */
export function sortByEot(
  db: Database,
  session: number,
  range: EotRange,
  clockOffsets: ClockOffsets = new Map(),
): EotOrder {
  let sorter: Sorter | undefined;
  // Reuses the array: never more rows have been added than seqs have been read.
  const onSeqs = (seqs: Float64Array) => {
    sorter = new Sorter(seqs);
  };
  const reads = eotRows(db, session, { range, clockOffsets, onSeqs });
  for (;;) {
    const { done, value } = reads.next();
    if (done) return { seqs: sorter!.sorted(), lastSeq: value };
    sorter?.add(value);
  }
}

interface EotRowsOptions {
  readonly range?: EotRange;
  readonly clockOffsets?: ClockOffsets;
  /**
   * Gets the array of their seqs, dangling ones included, which is free to be overwritten up to the number of rows that were
   * yielded.
   */
  readonly onSeqs?: (seqs: Float64Array) => void;
}

/**
 * Reads seq and eot of the events of a session: those that were stored when it began, less those that were
 * pruned meanwhile.
 * @yields them in the order of arrival, in many short reads, some of which find none.
 * @returns the highest seq of all sessions when it began; 0 without events.
 */
export function* eotRows(
  db: Database,
  session: number,
  { range = ALWAYS, clockOffsets = new Map(), onSeqs }: EotRowsOptions = {},
): Generator<readonly EotRow[], number> {
  const row = rowOf(db, clockOffsets);
  const one = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  // In one snapshot, so that each event is in one of the two parts, whatever the daemon flushes meanwhile.
  const { flushedSeq, lastSeq } = db.transaction(() => ({
    flushedSeq: one('SELECT up_to_seq FROM flushed'),
    lastSeq: one('SELECT max(seq) FROM event'),
  }))();
  const flushed = yield* flushedSeqs(db, session, flushedSeq);
  // By seq first, because that is the order of the rows in the file.
  flushed.sort();
  onSeqs?.(flushed);
  const where = 'session = @session AND eot_ns >= @fromNs AND eot_ns < @toNs';
  const bounds = { session, ...range };
  const find = db.prepare<unknown[], EotRow>(
    `SELECT ${row} FROM event WHERE seq IN ${placeholders(SORT_READ_ROWS)} AND ${where}`,
  );
  for (let at = 0; at < flushed.length; at += SORT_READ_ROWS) {
    yield find.raw().all(...padded(flushed.subarray(at, at + SORT_READ_ROWS), SORT_READ_ROWS), bounds);
  }
  const scan = db.prepare<unknown[], EotRow>(
    `SELECT ${row} FROM event WHERE seq > ? AND seq <= ? AND ${where} ORDER BY seq`,
  );
  for (let from = flushedSeq; from < lastSeq; from += SORT_READ_ROWS) {
    yield scan.raw().all(from, Math.min(from + SORT_READ_ROWS, lastSeq), bounds);
  }
  return lastSeq;
}

/**
 * @yields after each of its reads, which are in ranges of the hash, of about equal size.
 * @returns the seqs of a session's keys, dangling ones included.
 */
function* flushedSeqs(db: Database, session: number, upTo: number): Generator<readonly [], Float64Array> {
  // Not what the session has counted, which may be damaged: memory is taken for it.
  const count = db
    .prepare<[number], number>('SELECT count(*) FROM key WHERE session = ?')
    .pluck()
    .get(session)!;
  const find = db
    .prepare<[number, number, number, number], number>(
      'SELECT seq FROM key WHERE session = ? AND hash >= ? AND hash < ? AND seq <= ?',
    )
    .pluck();
  const ranges = Math.ceil((count + 1) / SORT_READ_KEYS);
  const from = (range: number) => Math.floor((range / ranges) * 2 ** 32) - 2 ** 31;
  let [seqs, length] = [new Float64Array(count), 0];
  for (let range = 0; range < ranges; range++) {
    const some = find.all(session, from(range), from(range + 1), upTo);
    const needed = length + some.length;
    if (needed > seqs.length) seqs = copyInto(seqs, new Float64Array(Math.ceil(needed * 1.25)));
    seqs.set(some, length);
    length += some.length;
    yield [];
  }
  return seqs.subarray(0, length);
}

/** The eot in two columns, because a JavaScript number cannot hold its nanoseconds. */
export type EotRow = readonly [seq: number, high: number, low: number];

/** Whether an event comes before another one: by eot, then by arrival. */
export function isBefore([seq, high, low]: EotRow, [otherSeq, otherHigh, otherLow]: EotRow): boolean {
  if (high !== otherHigh) return high < otherHigh;
  return low === otherLow ? seq < otherSeq : low < otherLow;
}

function rowOf(db: Database, clockOffsets: ClockOffsets): string {
  const origins = db.prepare<[], { id: number; source: string }>('SELECT id, source FROM origin');
  const cases = [...(clockOffsets.size === 0 ? [] : origins.iterate())].flatMap(({ id, source }) => {
    const offsetMs = clockOffsets.get(source);
    return offsetMs === undefined ? [] : [`WHEN ${id} THEN ${Math.round(offsetMs)}000000`];
  });
  const eot = cases.length === 0 ? 'eot_ns' : `(eot_ns - CASE origin ${cases.join(' ')} ELSE 0 END)`;
  return `seq, ${eot} >> 32, ${eot} & 4294967295`;
}

/** Seqs and eots in parallel typed arrays, which the garbage collector does not scan. */
class Columns {
  seqs: Float64Array;
  highs: Int32Array;
  lows: Uint32Array;

  constructor(seqs: Float64Array) {
    this.seqs = seqs;
    this.highs = new Int32Array(seqs.length);
    this.lows = new Uint32Array(seqs.length);
  }

  get capacity(): number {
    return this.seqs.length;
  }

  grow(length: number): void {
    this.seqs = copyInto(this.seqs, new Float64Array(length));
    this.highs = copyInto(this.highs, new Int32Array(length));
    this.lows = copyInto(this.lows, new Uint32Array(length));
  }

  set(to: number, seq: number, high: number, low: number): void {
    this.seqs[to] = seq;
    this.highs[to] = high;
    this.lows[to] = low;
  }

  copy(to: number, from: Columns, at: number): void {
    this.set(to, from.seqs[at]!, from.highs[at]!, from.lows[at]!);
  }

  isAfter(i: number, other: Columns, j: number): boolean {
    const [high, otherHigh] = [this.highs[i]!, other.highs[j]!];
    if (high !== otherHigh) return high > otherHigh;
    const [low, otherLow] = [this.lows[i]!, other.lows[j]!];
    if (low !== otherLow) return low > otherLow;
    return this.seqs[i]! > other.seqs[j]!;
  }
}

/**
 * A merge sort: events arrive nearly in order, and runs that are in order already are only compared, not
 * copied.
 */
class Sorter {
  readonly #rows: Columns;
  #length = 0;
  /** The left run of a merge, from its first row that is out of place. */
  readonly #left = new Columns(new Float64Array(0));

  /** @param room is overwritten. */
  constructor(room: Float64Array) {
    this.#rows = new Columns(room);
  }

  add(rows: readonly EotRow[]): void {
    const needed = this.#length + rows.length;
    if (needed > this.#rows.capacity) this.#rows.grow(Math.ceil(needed * 1.25));
    for (const [seq, high, low] of rows) this.#rows.set(this.#length++, seq, high, low);
  }

  sorted(): Float64Array {
    for (let width = 1; width < this.#length; width *= 2) {
      for (let from = 0; from + width < this.#length; from += 2 * width) {
        this.#merge(from, from + width, Math.min(from + 2 * width, this.#length));
      }
    }
    return this.#rows.seqs.subarray(0, this.#length);
  }

  #merge(from: number, middle: number, to: number): void {
    const [rows, left] = [this.#rows, this.#left];
    if (!rows.isAfter(middle - 1, rows, middle)) return;
    let at = from;
    while (!rows.isAfter(at, rows, middle)) at++;
    const length = middle - at;
    if (length > left.capacity) left.grow(Math.max(length, 2 * left.capacity));
    for (let i = 0; i < length; i++) left.copy(i, rows, at + i);
    for (let i = 0, j = middle; i < length; at++) {
      if (j < to && left.isAfter(i, rows, j)) rows.copy(at, rows, j++);
      else rows.copy(at, left, i++);
    }
  }
}

function copyInto<To extends Float64Array | Int32Array | Uint32Array>(from: To, to: To): To {
  to.set(from);
  return to;
}
