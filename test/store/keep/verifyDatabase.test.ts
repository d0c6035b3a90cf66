import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { SCHEMA_VERSION } from '../../../src/store/db/schema.ts';
import { restoreDatabase } from '../../../src/store/keep/restoreDatabase.ts';
import { verifyDatabase } from '../../../src/store/keep/verifyDatabase.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

/** A copy, as a backup makes one, after this was done to the database. */
function copyOf(t: Test, change: (db: Database.Database) => void): string {
  const { db } = scratch(t);
  change(db);
  const file = path.join(temporaryFolder(t), 'copy.db');
  db.prepare('VACUUM INTO ?').run(file);
  return file;
}

t.test('a database of another program, or of another layout, is none of ours', (t) => {
  for (const [pragma, message] of [
    ['user_version = 0', /is not a courtd database/],
    [`user_version = ${SCHEMA_VERSION + 1}`, /newer courtd/],
  ] as const) {
    const file = copyOf(t, (db) => db.pragma(pragma));
    t.throws(() => verifyDatabase(file), { message }, pragma);
  }
  t.end();
});

/** Changes a row and not its index. */
function leaveOutOfIndex(file: string): void {
  const change = (work: (db: Database.Database) => void) => {
    const db = new Database(file);
    try {
      db.unsafeMode(true);
      db.pragma('writable_schema = ON');
      work(db);
    } finally {
      db.close();
    }
  };
  const sent = event();
  change((db) => new Committer(db).append(...court(sent, { ...sent, confidence: 0.5 })));
  let index: unknown;
  change((db) => {
    index = db.prepare("SELECT * FROM sqlite_schema WHERE name = 'conflict_copy_turn'").get();
    db.exec("DELETE FROM sqlite_schema WHERE name = 'conflict_copy_turn'");
  });
  change((db) => db.exec('UPDATE conflict_copy SET turn = 99'));
  change((db) =>
    db.prepare('INSERT INTO sqlite_schema VALUES (@type, @name, @tbl_name, @rootpage, @sql)').run(index),
  );
}

t.test('an index that is not that of its table is found before a backup is restored', async (t) => {
  const file = copyOf(t, () => {});
  leaveOutOfIndex(file);
  t.match(verifyDatabase(file), { events: 1 }, 'what SQLite has just copied need not be compared');
  t.throws(() => verifyDatabase(file, { indexes: true }), { message: 'is damaged' });
  const folder = temporaryFolder(t);
  await t.rejects(restoreDatabase(new DataDirectory(folder), file), {
    message: `${file} is damaged: nothing was changed.`,
  });
  t.throws(() => verifyDatabase(path.join(folder, 'courtd.db')), 'and nothing is restored');
});
