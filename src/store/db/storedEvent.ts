import type { Database } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';

/** Bytes of an event's payload and unknown fields; if they are larger, they are read apart from its row. */
export const INLINE_TEXT_BYTES = 4 * 1024;

const FITS_IN_ROW = `octet_length(e.payload) + ifnull(octet_length(e.extra), 0) <= ${INLINE_TEXT_BYTES}`;

/**
 * SQL for the payload and the unknown fields of an event `e`, NULL if they are large. So a chunk of rows is fetched at once, and
 * its memory is bounded all the same: fetching every row separately took half as long again.
 */
export const INLINE_TEXTS = `iif(${FITS_IN_ROW}, e.payload, NULL), iif(${FITS_IN_ROW}, e.extra, NULL)`;

type Texts = Pick<CourtEvent, 'payload' | 'extra'>;

/** @returns a function that completes the texts of a row with INLINE_TEXTS. */
export function textReader(
  db: Database,
): (seq: number, payload: string | null, extra: string | null) => Texts {
  const large = db.prepare<[number], Texts>('SELECT payload, extra FROM event WHERE seq = ?');
  return (seq, payload, extra) => (payload === null ? large.get(seq)! : { payload, extra });
}
