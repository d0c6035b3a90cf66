import { failureKind } from '../sqlite/errors.ts';

/**
 * @returns the rows of one query; where it meets a damaged page, those that can be read one at a time. What is missing then, the
 * count of the session tells.
 * @param seqs what `bulk` asks for.
 */
export function readableRows<Row>(
  bulk: () => Row[],
  one: (seq: number) => Row | undefined,
  seqs: () => Iterable<number>,
): Row[] {
  try {
    return bulk();
  } catch (error) {
    if (failureKind(error) !== 'damaged') throw error;
  }
  const rows: Row[] = [];
  for (const seq of seqs()) {
    const row = unlessDamaged(() => one(seq), undefined);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** @returns what `read` does; `otherwise` where that is on a damaged page. */
export function unlessDamaged<Result, Otherwise>(
  read: () => Result,
  otherwise: Otherwise,
): Result | Otherwise {
  try {
    return read();
  } catch (error) {
    if (failureKind(error) !== 'damaged') throw error;
    return otherwise;
  }
}
