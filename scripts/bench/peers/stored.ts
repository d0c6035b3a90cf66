import Database from 'better-sqlite3';
import type { Running } from '../contender.ts';

/** What the peers share: their token, and how to read what they hold. */

export const TOKEN = 'a-token-of-the-bench';

/** @param file of a peer that keeps its events in a table `event`. */
export function heldInSQLite(file: string): Required<Pick<Running, 'stored' | 'ids'>> {
  const read = <Value>(sql: string) => {
    const db = new Database(file, { readonly: true });
    try {
      return db.prepare<[], Value>(sql).pluck().all();
    } finally {
      db.close();
    }
  };
  return {
    stored: async () => read<number>('SELECT count(*) FROM event')[0]!,
    ids: async () => new Set(read<string>('SELECT event_id FROM event')),
  };
}
