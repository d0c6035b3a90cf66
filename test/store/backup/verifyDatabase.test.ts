import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { OperatorError } from '../../../src/base/operatorError.ts';
import { restoreDatabase } from '../../../src/store/backup/restore.ts';
import { verifyDatabase } from '../../../src/store/backup/verifyDatabase.ts';
import { databaseFile } from '../../../src/store/directory/dataDirectory.ts';
import { SCHEMA_VERSION } from '../../../src/store/layout/schema.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, reseal, scratch } from '../../harness/scratchStore.ts';

/** A copy, as a backup makes one, after this was done to the database. */
function copyOf(t: Test, change: (db: Database.Database) => void): string {
  const { db } = scratch(t);
  change(db);
  const file = path.join(temporaryFolder(t), 'copy.db');
  db.prepare('VACUUM INTO ?').run(file);
  return file;
}

t.test('what a copy holds', (t) => {
  t.strictSame(verifyDatabase(copyOf(t, () => {})), { events: 0, sessions: 0, lastSeq: 0, newestMs: null });
  const file = copyOf(t, (db) => {
    new Committer(db).append(...court(...events(2), event({ session_id: 'another' })));
    db.exec('UPDATE event SET received_ms = 1000 * seq');
    reseal(db);
  });
  t.strictSame(verifyDatabase(file), { events: 3, sessions: 2, lastSeq: 3, newestMs: 3_000 });
  t.end();
});

t.test('events that are damaged, and counts that are wrong, are named', (t) => {
  const file = copyOf(t, (db) => {
    new Committer(db).append(...court(...events(3), event({ event_id: 'x', session_id: 'another' })));
    db.exec("UPDATE event SET received_ms = 1 WHERE event_id = 'x'; DELETE FROM event WHERE seq = 2");
  });
  t.match(verifyDatabase(file), {
    events: 3,
    damage:
      'Damaged in the database, and left out: event "x" (revision 0, seq 4) of session "another". ' +
      'Session "session-1" counts 3 events and has 2: 1 cannot be found.',
  });
  t.end();
});

t.test('a database of another program, or of another layout, is none of ours', (t) => {
  for (const pragma of ['application_id = 1', 'user_version = 0', `user_version = ${SCHEMA_VERSION + 1}`]) {
    const file = copyOf(t, (db) => db.pragma(pragma));
    t.throws(() => verifyDatabase(file), { message: 'is not a courtd database' }, pragma);
  }
  t.end();
});

t.test('one that cannot be read to its end is damaged', (t) => {
  const file = copyOf(t, () => {});
  fs.truncateSync(file, 8_192);
  t.throws(() => verifyDatabase(file), new OperatorError('is damaged (SQLITE_CORRUPT)'));
  t.end();
});

/** Changes a row beside an index that does not see it. */
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
  await t.rejects(restoreDatabase(folder, file), { message: `${file} is damaged: nothing was changed.` });
  t.throws(() => verifyDatabase(databaseFile(folder)), 'and nothing is restored');
});
