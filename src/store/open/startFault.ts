import type { Database } from 'better-sqlite3';
import { layoutFault } from '../layout/layoutFault.ts';
import { stateFault } from '../layout/valueFault.ts';

const TABLES = ['session', 'origin', 'flushed', 'token'];

/**
 * Checks the layout, the tables that every event needs, and what a start reads; checking the whole file would take seconds.
 * @returns what keeps a daemon from using the database, as the end of a sentence; undefined if nothing does.
 * @throws {SqliteError} if that cannot be read.
 */
export function startFault(db: Database): string | undefined {
  if (!isIntact(db, 'sqlite_schema')) return 'is damaged';
  const other = layoutFault(db);
  if (other !== undefined) return other;
  if (!TABLES.every((table) => isIntact(db, table))) return 'is damaged';
  const wrong = stateFault(db);
  if (wrong !== undefined) return wrong;
  db.prepare('SELECT max(event_id), max(seq) FROM event WHERE seq > (SELECT up_to FROM flushed)').get();
  return undefined;
}

function isIntact(db: Database, table: string): boolean {
  return db.pragma(`quick_check(${table})`, { simple: true }) === 'ok';
}
