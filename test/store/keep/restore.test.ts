import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { restoreDatabase } from '../../../src/store/keep/restoreDatabase.ts';
import { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { Committer, court, recorder, scratch } from '../../harness/scratchStore.ts';

/** What a restore makes of a backup whose pages are right, and a start of such a database. */

/** @returns the data directory of a database of so many events, after this was done to it. */
function boxWith(t: Test, count: number, change: (db: Database.Database) => void): string {
  const { folder, db } = scratch(t);
  new Committer(db).append(...court(...events(count)));
  change(db);
  db.close();
  return folder;
}

t.test('a restore includes the WAL beside a backup, and begins a new epoch', async (t) => {
  const { db: open } = scratch(t);
  new Committer(open).append(...court(...events(3)));
  const copy = path.join(temporaryFolder(t), 'copy.db');
  for (const part of ['', '-wal']) fs.copyFileSync(open.name + part, copy + part);
  const folder = temporaryFolder(t);
  // A restore that was killed, and a backup that was.
  const left = ['.courtd.db.99999999.partial', '.courtd-20260101T000000Z.db.99999999.partial'];
  for (const name of left) fs.writeFileSync(path.join(folder, name), '');
  t.match(await restoreDatabase(new DataDirectory(folder), copy), { events: 3, canSalvage: false });
  const names = fs.readdirSync(folder).filter((name) => /^courtd\.db|partial/.test(name));
  t.strictSame(names.sort(), [left[1], 'courtd.db']);
  const db = new Database(path.join(folder, 'courtd.db'), { readonly: true });
  t.teardown(() => db.close());
  const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  t.strictSame([count('event'), count('epoch')], [3, 2]);
});

t.test('tables, indexes, triggers and views are those of the layout, or nothing is done', async (t) => {
  for (const [sql, what] of [
    ['CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END', /\(trigger "t"\)/],
    ['CREATE TABLE "x\u001b[2J" (y)', /\(table "x\\u001b\[2J"\)/],
    ['DROP INDEX conflict_copy_turn', /\(index "conflict_copy_turn"\)/],
    ['DROP VIEW events; CREATE VIEW events AS SELECT 1', /\(view "events"\)/],
    ['ALTER TABLE token ADD COLUMN note TEXT', /\(table "token"\)/],
    ['DELETE FROM flushed', /is damaged/],
    ['DELETE FROM epoch', /is damaged/],
  ] as const) {
    const folder = boxWith(t, 3, (db) => db.exec(sql));
    const target = boxWith(t, 0, () => {});
    const before = fs.readFileSync(path.join(target, 'courtd.db'));
    const restoring = restoreDatabase(new DataDirectory(target), path.join(folder, 'courtd.db'));
    await t.rejects(restoring, { message: what }, sql);
    t.ok(fs.readFileSync(path.join(target, 'courtd.db')).equals(before), 'nothing was changed');
    await t.rejects(Store.open(new DataDirectory(folder), recorder().on), { message: what }, sql);
  }
});
