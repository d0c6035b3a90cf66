import type { Database } from 'better-sqlite3';
import * as schema from '../../../src/store/db/schema.ts';

/** In the place of src/store/db/schema.ts: with a migration that production does not have, so that there is an upgrade. */

export * from '../../../src/store/db/schema.ts';

const MIGRATION = 'ALTER TABLE token ADD COLUMN note TEXT; CREATE INDEX event_newer ON event (session, seq);';
/** Undoes it, but for the version. */
export const OLDER_LAYOUT = 'DROP INDEX event_newer; ALTER TABLE token DROP COLUMN note;';

export const MIGRATIONS = [...schema.MIGRATIONS, MIGRATION];
export const SCHEMA_VERSION = MIGRATIONS.length;

export function migrate(db: Database, migrations: readonly string[] = MIGRATIONS): void {
  schema.migrate(db, migrations);
}

export function makeLayout(db: Database, also: (db: Database) => void = () => {}): void {
  schema.makeLayout(db, also, MIGRATIONS);
}
