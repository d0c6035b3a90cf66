import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { APPLICATION_ID } from '../../../src/store/db/schema.ts';
import { restoreDatabase } from '../../../src/store/keep/restoreDatabase.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

/** Copies a database and its WAL, as somebody may have done without "courtd backup". @returns the copy. */
function copyFiles(t: Test, file: string, companion: string): string {
  const copy = path.join(temporaryFolder(t), 'copy.db');
  for (const part of ['', companion]) fs.copyFileSync(file + part, copy + part);
  return copy;
}

/** A database of so many events, all of them in its WAL. */
function withWal(t: Test, count: number): string {
  const { folder, db } = scratch(t);
  db.pragma('wal_autocheckpoint = 0');
  new Committer(db).append(...court(...events(count)));
  return path.join(folder, 'courtd.db');
}

t.test('a restore includes the WAL beside a backup, and begins a new epoch', async (t) => {
  const copy = copyFiles(t, withWal(t, 3), '-wal');
  const folder = temporaryFolder(t);
  // A restore that was killed, and a backup that was.
  const left = ['.courtd.db.99999999.partial', '.courtd-20260101T000000Z.db.99999999.partial'];
  for (const name of left) fs.writeFileSync(path.join(folder, name), '');
  t.match(await restoreDatabase(new DataDirectory(folder), copy), { events: 3, previousDatabase: null });
  t.strictSame(
    fs
      .readdirSync(folder)
      .filter((name) => /^courtd\.db|partial/.test(name))
      .sort(),
    [left[1], 'courtd.db'],
  );
  const db = new Database(path.join(folder, 'courtd.db'), { readonly: true });
  t.teardown(() => db.close());
  t.equal(db.prepare('SELECT count(*) FROM event').pluck().get(), 3);
  t.equal(db.prepare('SELECT count(*) FROM epoch').pluck().get(), 2);
});

t.test('a restore rolls back an interrupted transaction with the journal beside the backup', async (t) => {
  const { db } = scratch(t);
  new Committer(db).append(...court(...events(300)));
  const file = path.join(temporaryFolder(t), 'cut.db');
  db.prepare('VACUUM INTO ?').run(file);
  const writer = new Database(file);
  t.teardown(() => writer.close());
  // With no cache most of the changes are in the file before the commit.
  writer.pragma('cache_size = 1');
  writer.exec('BEGIN; DELETE FROM event WHERE seq > 1');
  const copy = copyFiles(t, file, '-journal');
  t.match(await restoreDatabase(new DataDirectory(temporaryFolder(t)), copy), { events: 300, sessions: 1 });
});

t.test('a copy that is written to while it is read is not restored', async (t) => {
  const copy = copyFiles(t, withWal(t, 3), '-wal');
  const { readSync } = fs;
  t.teardown(() => Object.assign(fs, { readSync }));
  let reads = 0;
  const read = (...args: Parameters<typeof readSync>) => {
    fs.utimesSync(copy, 0, ++reads);
    return readSync(...args);
  };
  Object.assign(fs, { readSync: read });
  const folder = temporaryFolder(t);
  await t.rejects(restoreDatabase(new DataDirectory(folder), copy), { message: /courtd-copy/ });
  t.notOk(fs.existsSync(path.join(folder, 'courtd.db')));
});

t.test('a restore does not follow a link beside a backup, and does not wait for a pipe', async (t) => {
  const copy = copyFiles(t, withWal(t, 1), '-wal');
  fs.renameSync(`${copy}-wal`, `${copy}.elsewhere`);
  fs.symlinkSync(`${copy}.elsewhere`, `${copy}-wal`);
  const folder = temporaryFolder(t);
  await t.rejects(restoreDatabase(new DataDirectory(folder), copy), {
    message: `${copy}-wal is a symbolic link: nothing was changed.`,
  });
  const pipe = path.join(folder, 'pipe.db');
  t.equal(spawnSync('mkfifo', [pipe]).status, 0);
  await t.rejects(restoreDatabase(new DataDirectory(folder), pipe), {
    message: `${pipe} is not a courtd database`,
  });
  const unused = path.join(temporaryFolder(t), 'unused.db');
  const db = new Database(unused);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.close();
  await t.rejects(restoreDatabase(new DataDirectory(folder), unused), {
    message: `${unused} is not a courtd database: nothing was changed.`,
  });
  const circle = path.join(folder, 'circle.db');
  fs.symlinkSync(circle, circle);
  await t.rejects(restoreDatabase(new DataDirectory(folder), circle), {
    message: `Cannot read ${circle}: too many symbolic links`,
  });
  t.strictSame(fs.readdirSync(folder).sort(), ['circle.db', 'pipe.db']);
});

/** Restores an empty database over another one, with `change` made to every connection's method. */
async function restoreWith(
  t: Test,
  change: (db: Database.Database, folder: string, source: string) => void,
): Promise<void> {
  const { prototype } = Database;
  const { exec, pragma } = prototype;
  t.teardown(() => Object.assign(prototype, { exec, pragma }));
  const folder = temporaryFolder(t);
  scratch(t, folder).db.close();
  const backup = withWal(t, 0);
  prototype.exec = function (this: Database.Database, source) {
    change(this, folder, source);
    return exec.call(this, source);
  };
  prototype.pragma = function (this: Database.Database, source, options) {
    change(this, folder, source);
    return pragma.call(this, source, options);
  };
  const descriptors = () => fs.readdirSync('/proc/self/fd').length;
  const before = descriptors();
  const aside = () => fs.readdirSync(folder).filter((name) => /partial|replaced/.test(name));
  try {
    await restoreDatabase(new DataDirectory(folder), backup);
  } catch (error) {
    t.strictSame(aside(), []);
    throw error;
  } finally {
    t.equal(descriptors(), before, 'nothing stays open');
  }
}

t.test('a program that has the database open for a moment is waited for', async (t) => {
  let other: Database.Database | undefined;
  let tries = 0;
  await restoreWith(t, (db, folder, source) => {
    if (source !== 'journal_mode = DELETE' || db.name !== path.join(folder, 'courtd.db')) return;
    if (tries++ > 0) return void other!.close();
    other = new Database(db.name, { readonly: true });
    other.prepare('SELECT count(*) FROM session').get();
  });
  t.equal(tries, 2);
});

t.test('a program that opens the database before it is locked keeps it', async (t) => {
  const restoring = restoreWith(t, (db, folder, source) => {
    if (source !== 'BEGIN EXCLUSIVE' || db.name !== path.join(folder, 'courtd.db')) return;
    const other = new Database(db.name);
    other.pragma('journal_mode = WAL');
    other.close();
  });
  await t.rejects(restoring, { message: /is locked by another program/ });
});

t.test('a disk that fills up while a backup is checked does not make it a damaged one', async (t) => {
  const restoring = restoreWith(t, (db, _folder, source) => {
    if (source === 'journal_mode = DELETE' && db.name.endsWith('.partial'))
      throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
  });
  await t.rejects(restoring, { message: /^The disk of \S+ is full\. / });
});
