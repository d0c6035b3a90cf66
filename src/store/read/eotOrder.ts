import type { Database, Statement } from 'better-sqlite3';
import { copyInto } from '../dedup/memtable.ts';
import { padded, placeholders } from '../sqlite/multiRowStatement.ts';
import { readableRows, unlessDamaged } from './readableRows.ts';

/** Keys, and eots, that one query of a sort reads: a millisecond or two. */
const SORT_READ_KEYS = 5_000;
export const SORT_READ_ROWS = 2_000;

/** By source, its clock minus the right one, in milliseconds. */
export type ClockOffsets = ReadonlyMap<string, number>;

/** The events of a session in order. */
export interface EotOrder {
  /** Sorted by eot, then by arrival. */
  readonly seqs: Float64Array;
  /** How many events the session counted when the read began. */
  readonly counted: number;
  /** The highest seq of all sessions when the read began; 0 without events. */
  readonly lastSeq: number;
  /** The keys of the events up to this seq led to them; later ones were searched for. */
  readonly keyedSeq: number;
}

/** How a session is sorted. */
interface SortOptions {
  /** Is told of each event with a revision above 0, of some of them twice. */
  readonly onRevised?: OnRevised;
  /** Sources whose events are put where a right clock would have put them. */
  readonly clockOffsets?: ClockOffsets | undefined;
}

/** @param isKeyed whether a key led to the event. */
type OnRevised = (eventId: string, revision: number, isKeyed: boolean) => void;

/**
 * Finds the events of a session and sorts them by eot, then by arrival, in 32 bytes an event, of which 8 are
 * kept: an index in that order would cost ingest an eighth of its rate
 * (../../ARCHITECTURE.md#readers-sort). The table `key` leads to most events; the few after `flushed` are
 * scanned, and all of them where the keys lead to fewer events than the session counts. Many short reads, so that none pins the
 * WAL for long. The result has the events that were stored when it began, less those that were pruned meanwhile and those on a
 * damaged page.
 */
export function sortByEot(
  db: Database,
  session: number,
  { onRevised = () => {}, clockOffsets = new Map() }: SortOptions = {},
): EotOrder {
  const one = (sql: string) => db.prepare<[], number>(sql).pluck();
  const last = one('SELECT max(seq) FROM event');
  const lastGiven = one("SELECT seq FROM sqlite_sequence WHERE name = 'event'");
  // In one snapshot, so that each event is in one of the two parts, whatever the daemon flushes meanwhile.
  const { counted, flushedSeq, lastSeq } = db.transaction(() => ({
    counted: one(`SELECT events FROM session WHERE id = ${session}`).get() ?? 0,
    flushedSeq: one('SELECT up_to_seq FROM flushed').get() ?? 0,
    // Both: a damaged page may lead to another end of the table.
    lastSeq: Math.max(unlessDamaged(() => last.get(), 0) ?? 0, lastGiven.get() ?? 0),
  }))();
  const rows = new SessionRows(db, session, lastSeq, onRevised, rowOf(db, clockOffsets));
  const keyed = unlessDamaged(() => flushedSeqs(db, session, flushedSeq), undefined);
  const found = keyed === undefined ? undefined : rows.sort(keyed, flushedSeq);
  // Reading them all takes long, so only where keys are damaged, or a prune has deleted some events by now.
  const isWhole = found !== undefined && found.length >= countLeft(db, session, lastSeq);
  if (isWhole) return { seqs: found, counted, lastSeq, keyedSeq: flushedSeq };
  return { seqs: rows.sort(new Float64Array(0), 0), counted, lastSeq, keyedSeq: 0 };
}

/** @returns how many events the session counts now, without those that came after `lastSeq`. */
export function countLeft(db: Database, session: number, lastSeq: number): number {
  const count = db.prepare<[number], number>('SELECT events FROM session WHERE id = ?').pluck();
  const added = db
    .prepare<[number, number], number>('SELECT count(*) FROM event WHERE seq > ? AND session = ?')
    .pluck();
  return db.transaction(() => (count.get(session) ?? 0) - (added.get(lastSeq, session) ?? 0))();
}

/** Finds the rows of a session, by their seqs and by reading all that came after one. */
class SessionRows {
  readonly #session: number;
  readonly #lastSeq: number;
  readonly #onRevised: OnRevised;
  readonly #some: Statement<unknown[], OrderRow>;
  readonly #one: Statement<[number, number], OrderRow>;
  readonly #range: Statement<[number, number, number], OrderRow>;
  readonly #next: Statement<[number, number], number>;

  constructor(db: Database, session: number, lastSeq: number, onRevised: OnRevised, columns: string) {
    this.#session = session;
    this.#lastSeq = lastSeq;
    this.#onRevised = onRevised;
    const select = (where: string) =>
      db.prepare<unknown[], OrderRow>(`SELECT ${columns} FROM event WHERE ${where} AND session = ?`).raw();
    this.#some = select(`seq IN ${placeholders(SORT_READ_ROWS)}`);
    this.#one = select('seq = ?');
    this.#range = select('seq > ? AND seq <= ?');
    this.#next = db
      .prepare<[number, number], number>(
        'SELECT seq FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT 1',
      )
      .pluck();
  }

  /** @param seqs of some of them; overwritten. @param after those with a higher seq are searched for. @returns all, in order of eot. */
  sort(seqs: Float64Array, after: number): Float64Array {
    // By seq first, because that is the order of the rows in the file.
    seqs.sort();
    const wanted = seqs.subarray(0, distinct(seqs));
    // Reuses the array: never more rows have been added than seqs have been read.
    const sorter = new EotSorter(wanted);
    const add = (rows: readonly OrderRow[]) => {
      for (const [seq, , , revision, eventId] of rows) {
        // Damage turns a text into bytes: whoever reads the event then leaves it out.
        if (revision > 0 && typeof eventId === 'string') this.#onRevised(eventId, revision, seq <= after);
      }
      sorter.add(rows);
    };
    const [session, one] = [this.#session, (seq: number) => this.#one.get(seq, this.#session)];
    for (let at = 0; at < wanted.length; at += SORT_READ_ROWS) {
      const some = wanted.slice(at, at + SORT_READ_ROWS);
      add(
        readableRows(
          () => this.#some.all(...padded(some, SORT_READ_ROWS), session),
          one,
          () => some,
        ),
      );
    }
    for (let from = after; from < this.#lastSeq; ) {
      // A damaged page may hide how far the next row is.
      const next = unlessDamaged(() => this.#next.get(from, this.#lastSeq), from + 1);
      if (next === undefined) break;
      const low = Math.max(from, next - 1);
      const to = Math.min(low + SORT_READ_ROWS, this.#lastSeq);
      const rows = readableRows(
        () => this.#range.all(low, to, session),
        one,
        () => between(low, to),
      );
      const found = new Set<number>();
      // A damaged seq may be anywhere, and that of another row: the count of the session then tells.
      add(rows.filter(([seq]) => seq > low && seq <= to && !found.has(seq) && found.add(seq)));
      from = to;
    }
    return sorter.sorted();
  }
}

/** Moves the different ones of sorted numbers to the front: a damaged key may lead to the event of another one. @returns how many. */
function distinct(seqs: Float64Array): number {
  let length = 0;
  for (const seq of seqs) if (length === 0 || seq !== seqs[length - 1]) seqs[length++] = seq;
  return length;
}

function* between(after: number, to: number): Generator<number> {
  for (let seq = after + 1; seq <= to; seq++) yield seq;
}

/**
 * @returns the seqs of a session's keys, dangling ones included. Read in ranges of the hash, which are of
 * about equal size.
 */
function flushedSeqs(db: Database, session: number, upTo: number): Float64Array {
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
  }
  return seqs.subarray(0, length);
}

/** The eot in two columns, because a JavaScript number cannot hold its nanoseconds. */
type SortedRow = readonly [seq: number, high: number, low: number, ...rest: unknown[]];
/** The event_id only of a revised event. */
type OrderRow = readonly [seq: number, high: number, low: number, revision: number, eventId: string];

function rowOf(db: Database, clockOffsets: ClockOffsets): string {
  const origins = db.prepare<[], { id: number; source: string }>('SELECT id, source FROM origin');
  const cases = [...(clockOffsets.size === 0 ? [] : origins.iterate())].flatMap(({ id, source }) => {
    const offsetMs = clockOffsets.get(source);
    return offsetMs === undefined ? [] : [`WHEN ${id} THEN ${Math.round(offsetMs)}000000`];
  });
  const eot = cases.length === 0 ? 'eot_ns' : `(eot_ns - CASE origin ${cases.join(' ')} ELSE 0 END)`;
  return `seq, ${eot} >> 32, ${eot} & 4294967295, revision, iif(revision > 0, event_id, NULL)`;
}

/** Sorts by eot, then by seq: seqs and eots are in parallel typed arrays, which the garbage collector does not scan. */
export class EotSorter {
  #seqs: Float64Array;
  #highs: Int32Array;
  #lows: Uint32Array;
  #length = 0;

  /** @param room is overwritten. */
  constructor(room: Float64Array = new Float64Array(0)) {
    this.#seqs = room;
    this.#highs = new Int32Array(room.length);
    this.#lows = new Uint32Array(room.length);
  }

  add(rows: readonly SortedRow[]): void {
    const needed = this.#length + rows.length;
    if (needed > this.#seqs.length) this.#grow(Math.ceil(needed * 1.25));
    for (const [seq, high, low] of rows) {
      this.#seqs[this.#length] = seq;
      this.#highs[this.#length] = high;
      this.#lows[this.#length++] = low;
    }
  }

  /** A merge sort: that of JavaScript would need 16 bytes an event in V8's heap, which is bounded. */
  sorted(): Float64Array {
    let order = new Uint32Array(this.#length).map((_, i) => i);
    let merged = new Uint32Array(this.#length);
    for (let width = 1; width < this.#length; width *= 2) {
      for (let from = 0; from < this.#length; from += 2 * width) this.#merge(order, merged, from, width);
      [order, merged] = [merged, order];
    }
    const sorted = new Float64Array(this.#length);
    for (let i = 0; i < sorted.length; i++) sorted[i] = this.#seqs[order[i]!]!;
    return sorted;
  }

  /** Merges two runs of places, each of `width`, the last one shorter. */
  #merge(order: Uint32Array, to: Uint32Array, from: number, width: number): void {
    const [middle, end] = [from + width, Math.min(from + 2 * width, this.#length)];
    let [left, right] = [from, middle];
    for (let at = from; at < end; at++) {
      const isRight = left >= middle || (right < end && this.#isAfter(order[left]!, order[right]!));
      to[at] = isRight ? order[right++]! : order[left++]!;
    }
  }

  #isAfter(a: number, b: number): boolean {
    const [high, otherHigh] = [this.#highs[a]!, this.#highs[b]!];
    if (high !== otherHigh) return high > otherHigh;
    const [low, otherLow] = [this.#lows[a]!, this.#lows[b]!];
    return low !== otherLow ? low > otherLow : this.#seqs[a]! > this.#seqs[b]!;
  }

  #grow(length: number): void {
    this.#seqs = copyInto(this.#seqs, new Float64Array(length));
    this.#highs = copyInto(this.#highs, new Int32Array(length));
    this.#lows = copyInto(this.#lows, new Uint32Array(length));
  }
}
