import type { Database } from 'better-sqlite3';

/** When the first and the last event of a session were, in nanoseconds since 1970-01-01T00:00:00Z, with their eots as sent. */
export interface SessionBounds {
  readonly firstNs: bigint;
  readonly firstEot: string;
  readonly lastNs: bigint;
  readonly lastEot: string;
}

type Edge = readonly [ns: bigint, eot: string, seq: bigint];

/** Keys that one query of `lostBounds` reads: half a millisecond. */
const READ_KEYS = 250;

/** Reads the whole session at once. @returns undefined if it has no events. */
export function findBounds(db: Database, session: number): SessionBounds | undefined {
  const edge = (order: string) =>
    db
      .prepare<[number], Edge>(`
        SELECT e.eot_ns, e.eot, e.seq FROM session_event k CROSS JOIN event e ON e.seq = k.seq AND e.session = k.session
         WHERE k.session = ? ORDER BY ${order} LIMIT 1`)
      .safeIntegers()
      .raw()
      .get(session);
  const [first, last] = [edge('e.eot_ns, e.seq'), edge('e.eot_ns DESC, e.seq DESC')];
  return first && last && { firstNs: first[0], firstEot: first[1], lastNs: last[0], lastEot: last[1] };
}

/**
 * Finds the first and the last event again of the sessions that have lost one to a deletion. Until then readers search for them.
 * @yields after each of many short reads undefined, or a step that writes what was found, to be called in a transaction.
 */
export function* lostBounds(db: Database): Generator<(() => void) | undefined> {
  const lost = db
    .prepare<[], number>('SELECT id FROM session WHERE events > 0 AND (first_ns IS NULL OR last_ns IS NULL)')
    .pluck();
  const seqs = db.prepare<[], { moved: number; counted: number }>(
    'SELECT up_to AS moved, max(up_to, counted_up_to) AS counted FROM flushed',
  );
  const keys = db
    .prepare<unknown[], [hash: Buffer, revision: bigint, ns: bigint | null, eot: string, seq: bigint]>(`
      SELECT k.hash, k.revision, e.eot_ns, e.eot, e.seq FROM key k LEFT JOIN event e ON e.seq = k.seq AND e.session = k.session
       WHERE k.session = ? AND (k.hash, k.revision) > (?, ?) ORDER BY k.hash, k.revision LIMIT ${READ_KEYS}`)
    .safeIntegers()
    .raw();
  const later = db
    .prepare<unknown[], Edge>(`
      SELECT eot_ns, eot, seq FROM event WHERE session = ? AND seq > ? AND seq <= ?`)
    .safeIntegers()
    .raw();
  const write = db.prepare(`
    UPDATE session SET first_ns = @firstNs, first_eot = @firstEot, last_ns = @lastNs, last_eot = @lastEot
     WHERE id = @id AND EXISTS (SELECT 1 FROM event WHERE seq = @first) AND EXISTS (SELECT 1 FROM event WHERE seq = @last)`);
  for (const id of lost.all()) {
    const { moved, counted } = seqs.get()!;
    let [first, last]: (Edge | undefined)[] = [];
    const add = (edge: Edge) => {
      if (first === undefined || isBefore(edge, first)) first = edge;
      if (last === undefined || isBefore(last, edge)) last = edge;
    };
    for (const row of later.all(id, moved, counted)) add(row);
    for (let after: [Buffer, bigint] = [Buffer.alloc(1), -1n]; ; ) {
      const rows = keys.all(id, ...after);
      for (const [, , ns, eot, seq] of rows) if (ns !== null) add([ns, eot, seq]);
      if (rows.length < READ_KEYS) break;
      after = [rows.at(-1)![0], rows.at(-1)![1]];
      yield undefined;
    }
    if (first === undefined || last === undefined) continue;
    yield () => {
      // What came meanwhile, and was counted.
      for (const row of later.all(id, counted, seqs.get()!.counted)) add(row);
      const [[firstNs, firstEot, firstSeq], [lastNs, lastEot, lastSeq]] = [first!, last!];
      // Not if another deletion has taken one of them.
      write.run({ id, firstNs, firstEot, lastNs, lastEot, first: firstSeq, last: lastSeq });
    };
  }
}

/** By eot, then by arrival. */
function isBefore(one: Edge, other: Edge): boolean {
  return one[0] === other[0] ? one[2] < other[2] : one[0] < other[0];
}
