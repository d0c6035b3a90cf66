import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

t.test('every open has the pragmas that the promise rests on, before the first write and after it', (t) => {
  const folder = temporaryFolder(t);
  for (const when of ['made', 'opened again', 'and again']) {
    const { db } = scratch(t, folder);
    const check = (at: string) => {
      const pragma = (name: string) => db.pragma(name, { simple: true });
      const FULL = 2;
      t.strictSame([pragma('journal_mode'), pragma('synchronous')], ['wal', FULL], `${when}, ${at}`);
      t.strictSame([pragma('page_size'), pragma('cache_size'), pragma('mmap_size')], [1024, -8_000, 0]);
      t.equal(pragma('journal_size_limit'), 64 * 1024 * 1024);
    };
    check('before the first write');
    new Committer(db).append(...court(event()));
    check('after it');
    t.equal(db.pragma('temp_store', { simple: true }), 2, 'in memory: a full /var/tmp stops nothing');
    db.close();
  }
  t.end();
});

t.test('a new data directory and its new parents are synced in the directories that name them', (t) => {
  const folder = temporaryFolder(t);
  const { fsyncSync } = fs;
  t.teardown(() => Object.assign(fs, { fsyncSync }));
  const synced: string[] = [];
  fs.fsyncSync = (fd) => {
    synced.push(path.relative(folder, fs.readlinkSync(`/proc/self/fd/${fd}`)));
    fsyncSync(fd);
  };
  new DataDirectory(path.join(folder, 'one', 'two', 'data')).make();
  t.strictSame(synced, ['', 'one', path.join('one', 'two')]);
  t.equal(fs.statSync(path.join(folder, 'one', 'two', 'data')).mode & 0o7777, 0o2770);
  t.end();
});
