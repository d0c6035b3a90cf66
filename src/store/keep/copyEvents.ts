import type { Database } from 'better-sqlite3';
import { COPY_STEP } from '../db/sizes.ts';
import type { Row } from './copyTables.ts';

/** What differs of two events; the mark of an erasure too, since that of a damaged event keeps its checksum. */
const LOOK = 'checksum * 2 + ifnull(erased, 0)';

/** Events of a copy by their seq, in order, each with what differs of two. */
type Looks = ReadonlyMap<number, bigint>;

/** What a copy lacks, or has too much, of a part of the log. */
interface Differing {
  readonly put: readonly Row[];
  /** Seqs. */
  readonly gone: readonly number[];
  /** The last seq of the part. */
  readonly upTo: number;
  /** Whether that is the end of what was asked for. */
  readonly isAll: boolean;
}

/** @returns the next events of a copy behind a seq. */
export function looksOf(copy: Database, after: number, most: number): Looks {
  const read = copy
    .prepare<[number, number], [bigint, bigint]>(
      `SELECT seq, ${LOOK} FROM event WHERE seq > ? ORDER BY seq LIMIT ?`,
    )
    .raw()
    .safeIntegers();
  return new Map(read.all(after, most).map(([seq, look]) => [Number(seq), look]));
}

/**
 * @param looks all that a copy has behind the seq `after` and up to `to`.
 * @returns how the box differs from it, as far as one transaction of the copy takes it over.
 */
export function differingEvents(
  db: Database,
  after: number,
  to = Number.MAX_SAFE_INTEGER,
  looks: Looks = new Map(),
): Differing {
  const rows = db
    .prepare<[number, number], Row>(`SELECT ${LOOK}, * FROM event WHERE seq > ? AND seq <= ? ORDER BY seq`)
    .raw()
    .safeIntegers();
  const put: Row[] = [];
  const gone = new Set(looks.keys());
  let [upTo, bytes, isAll] = [after, 0, true];
  for (const [look, ...row] of rows.iterate(after, to)) {
    upTo = Number(row[0]);
    gone.delete(upTo);
    if (looks.get(upTo) === look) continue;
    put.push(row);
    for (const value of row) if (typeof value === 'string') bytes += value.length;
    isAll = put.length < COPY_STEP.events && bytes <= COPY_STEP.bytes;
    if (!isAll) break;
  }
  if (isAll && looks.size > 0) upTo = to;
  return { put, gone: [...gone].filter((seq) => seq <= upTo), upTo, isAll };
}

/** Makes a copy as the box is. Call it inside a transaction. */
export function writeEvents(copy: Database, { put, gone }: Differing): void {
  const columns = put[0]?.map(() => '?').join(', ');
  if (columns !== undefined) {
    const insert = copy.prepare(`INSERT OR REPLACE INTO event VALUES (${columns})`);
    for (const row of put) insert.run(...row);
  }
  const remove = copy.prepare('DELETE FROM event WHERE seq = ?');
  for (const seq of gone) remove.run(seq);
}
