import type { Database } from 'better-sqlite3';

/** The end of the year 9999, in milliseconds since 1970-01-01T00:00:00Z: what ISO 8601 has four digits for. */
const TIME_MAX = Date.UTC(10_000, 0) - 1;

/** Whether courtd may have written it: milliseconds since 1970-01-01T00:00:00Z. */
export const isTime = (ms: unknown) => typeof ms === 'number' && ms >= 0 && ms <= TIME_MAX;

/** How many rows a table has that every event needs. */
const ROWS = { flushed: '= 1', pruned: '= 1', epoch: '> 0', running_time: '= 1' } as const;

/** @returns which of these tables has not the rows that courtd gives it, as the end of a sentence; undefined if none. */
export function stateFault(db: Database): string | undefined {
  for (const [table, rows] of Object.entries(ROWS)) {
    const isRight = db.prepare<[], number>(`SELECT count(*) ${rows} FROM ${table}`).pluck().get();
    if (isRight !== 1) return `is damaged: its table ${table} has not the rows that courtd gives it`;
  }
  return undefined;
}
