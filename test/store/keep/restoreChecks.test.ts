import fs from 'node:fs';
import path from 'node:path';
import type Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { restoreDatabase } from '../../../src/store/keep/restoreDatabase.ts';
import { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, recorder, scratch } from '../../harness/scratchStore.ts';

/** What a restore makes of a backup whose every page is right, and what a start makes of such a database. */

/** @returns a data directory with events, a token and a conflict, after this was done to its database. */
function boxWith(t: Test, change: (db: Database.Database) => void): string {
  const { folder, db } = scratch(t);
  const committer = new Committer(db);
  const sent = events(20);
  committer.append(...court(...sent, event({ revision: 1 })));
  committer.append(...court({ ...sent[0]!, confidence: 0.5 }));
  committer.sealAll();
  db.exec('INSERT INTO token (hash, created_ms) VALUES (zeroblob(32), 1)');
  change(db);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return folder;
}

/** @returns why it is not restored. */
async function refusal(t: Test, folder: string): Promise<string> {
  const target = temporaryFolder(t);
  scratch(t, target).db.close();
  const before = fs.readFileSync(path.join(target, 'courtd.db'));
  const refused = await restoreDatabase(new DataDirectory(target), path.join(folder, 'courtd.db')).then(
    () => 'restored',
    String,
  );
  if (refused !== 'restored')
    t.ok(fs.readFileSync(path.join(target, 'courtd.db')).equals(before), 'nothing was changed');
  return refused;
}

async function startOf(folder: string): Promise<string> {
  try {
    await (await Store.open(new DataDirectory(folder), recorder().on)).close();
    return 'started';
  } catch (error) {
    return String(error);
  }
}

t.test('tables, indexes, triggers and views are those of the layout, or nothing is done', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      'CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event WHERE seq = new.seq; END',
      /is not as courtd made it \(trigger "t"\)/,
    ],
    ['CREATE INDEX mine ON event (eot)', /is not as courtd made it \(index "mine"\)/],
    ['CREATE TABLE "x\u001b[2J" (y)', /is not as courtd made it \(table "x\\u001b\[2J"\)/],
    ['DROP INDEX conflict_copy_turn', /is not as courtd made it \(index "conflict_copy_turn"\)/],
    ['DROP VIEW events; CREATE VIEW events AS SELECT 1', /is not as courtd made it \(view "events"\)/],
    ['ALTER TABLE token ADD COLUMN note TEXT', /is not as courtd made it \(table "token"\)/],
    ['DROP TABLE running_time', /is not as courtd made it \(table "running_time"\)/],
  ];
  for (const [sql, sentence] of cases) {
    const folder = boxWith(t, (db) => db.exec(sql));
    t.match(await refusal(t, folder), sentence, sql);
    t.match(await refusal(t, folder), /nothing was changed/);
    t.match(await startOf(folder), sentence, sql);
    t.match(await startOf(folder), /Nothing was changed\. .*"sudo courtd restore FILE --salvage"/);
  }
});

t.test('what a SQLite shell does for its own sake is no fault', async (t) => {
  const folder = boxWith(t, (db) => {
    db.exec('ANALYZE');
    db.unsafeMode(true);
    db.pragma('writable_schema = ON');
    db.exec(
      "UPDATE sqlite_schema SET sql = replace(sql, '-- as sent', '-- as it was sent') WHERE name = 'event'",
    );
    db.exec(
      "UPDATE sqlite_schema SET sql = replace(sql, 'CREATE TABLE event (', 'CREATE TABLE event (\n\n') WHERE name = 'event'",
    );
    db.pragma('writable_schema = RESET');
  });
  t.equal(await refusal(t, folder), 'restored');
  t.equal(await startOf(folder), 'started');
});

t.test(
  'a table that every event needs and that has lost its row is found before anything is replaced',
  async (t) => {
    for (const table of ['flushed', 'pruned', 'epoch', 'running_time']) {
      const folder = boxWith(t, (db) => db.exec(`DELETE FROM ${table}`));
      t.match(await refusal(t, folder), /is damaged/, table);
      t.match(await startOf(folder), /is damaged/, table);
    }
    const whole = boxWith(t, () => {});
    t.equal(await refusal(t, whole), 'restored');
  },
);
