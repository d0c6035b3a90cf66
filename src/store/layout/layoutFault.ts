import Database from 'better-sqlite3';
import { visible } from '../../base/visibleText.ts';
import { MIGRATIONS, migrate } from './schema.ts';

/** White space and comments in SQL; or a text or a name, in which neither is one. */
const SPACE = /(?:\s|--[^\n]*|\/\*[\s\S]*?\*\/)+|('(?:[^']|'')*'|"(?:[^"]|"")*")/g;

/**
 * Compares the tables, indexes, triggers and views of a database with those that its migrations make. SQLite runs what a file
 * holds: with a trigger of somebody else's, an event could be acknowledged and be gone. Takes two milliseconds.
 * @param db of a layout that this version knows (`user_version`).
 * @returns what differs, as the end of a sentence about the file; undefined if nothing does.
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

/** The statistics of ANALYZE are nobody's harm. */
const PARTS = `SELECT type || ' "' || name || '"', tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_stat_' ESCAPE '~'`;

/** @returns what each part is made by, by its kind and name: white space and comments aside. */
function partsOf(db: Database.Database): Map<string, string> {
  const rows = db.prepare<[], [string, string, string | null]>(PARTS).raw().all();
  return new Map(
    rows.map(([name, table, sql]) => {
      const plain = (sql ?? '').replace(SPACE, (_, text?: string) => text ?? ' ');
      return [name, `${table} ${plain}`];
    }),
  );
}
