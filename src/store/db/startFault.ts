import Database from 'better-sqlite3';
import { visible } from '../../base/visibleText.ts';
import { MIGRATIONS, migrate } from './schema.ts';

/** Tables that every event needs. */
const TABLES = ['session', 'origin', 'flushed', 'token'];
/** How many rows a table has that every event needs. */
const ROWS = { flushed: '= 1', pruned: '= 1', epoch: '> 0', running_time: '= 1' } as const;

/** The statistics of ANALYZE are nobody's harm. */
const PARTS = `SELECT type || ' "' || name || '"', tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_stat_' ESCAPE '~'`;

/**
 * Checks the layout, the tables that every event needs, and what a start reads; checking the whole file would take seconds.
 * @returns what keeps a daemon from using the database, as the end of a sentence; undefined if nothing does.
 * @throws {SqliteError} if that cannot be read.
 */
export function startFault(db: Database.Database): string | undefined {
  const isIntact = (table: string) => db.pragma(`quick_check(${table})`, { simple: true }) === 'ok';
  if (!isIntact('sqlite_schema')) return 'is damaged';
  const other = layoutFault(db);
  if (other !== undefined) return other;
  if (!TABLES.every(isIntact)) return 'is damaged';
  for (const [table, rows] of Object.entries(ROWS)) {
    const isRight = db.prepare<[], number>(`SELECT count(*) ${rows} FROM ${table}`).pluck().get();
    if (isRight !== 1) return `is damaged: its table ${table} has not the rows that courtd gives it`;
  }
  db.prepare('SELECT max(event_id), max(seq) FROM event WHERE seq > (SELECT up_to FROM flushed)').get();
  return undefined;
}

/**
 * Compares the tables, indexes, triggers and views of a database with those that its migrations make. SQLite runs what a file
 * holds: with a trigger of somebody else's, an event could be acknowledged and be gone. Takes two milliseconds.
 * @returns what differs, as the end of a sentence about the file; undefined where nothing does.
 */
export function layoutFault(db: Database.Database): string | undefined {
  const version = db.pragma('user_version', { simple: true }) as number;
  const model = new Database(':memory:');
  try {
    migrate(model, MIGRATIONS.slice(0, version));
    const [expected, found] = [partsOf(model), partsOf(db)];
    for (const [name, sql] of expected) {
      if (!found.has(name)) return `is damaged: its ${visible(name)} is missing`;
      if (found.get(name) !== sql) return `is damaged: its ${visible(name)} is not as courtd makes it`;
    }
    const other = [...found.keys()].find((name) => !expected.has(name));
    return other === undefined ? undefined : `holds the ${visible(other)}, which courtd does not make`;
  } finally {
    model.close();
  }
}

/** @returns what each part is made by, by its kind and name: white space and comments aside. */
function partsOf(db: Database.Database): Map<string, string> {
  const rows = db.prepare<[], [string, string, string | null]>(PARTS).raw().all();
  return new Map(
    rows.map(([name, table, sql]) => {
      const plain = (sql ?? '').replace(/--[^\n]*/g, '').replace(/\s+/g, ' ');
      return [name, `${table} ${plain}`];
    }),
  );
}
