import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { Store } from '../../src/store/store.ts';
import { event } from '../harness/events.ts';
import { Committer, court, recorder, scratch } from '../harness/scratchStore.ts';

t.test(
  'a restore that ends while the store is being opened: events go to the restored database',
  async (t) => {
    const [{ folder, db }, restored] = [scratch(t), scratch(t)];
    for (const each of [db, restored.db]) each.close();
    const file = path.join(folder, 'courtd.db');
    const { openSync } = fs;
    t.teardown(() => Object.assign(fs, { openSync }));
    // The last moment: the database is open, and the lock that a restore holds is about to be taken.
    fs.openSync = (...args) => {
      if (String(args[0]).endsWith('courtd.lock') && fs.existsSync(path.join(restored.folder, 'courtd.db'))) {
        for (const companion of ['-wal', '-shm']) fs.rmSync(file + companion, { force: true });
        fs.renameSync(path.join(restored.folder, 'courtd.db'), file);
      }
      return openSync(...args);
    };
    const { on, told } = recorder();
    const store = await Store.open(new DataDirectory(folder), on);
    t.notOk(fs.existsSync(path.join(restored.folder, 'courtd.db')), 'it has been replaced');
    t.match(await store.writer.append(court(event())), { accepted: 1 });
    await store.close();
    t.strictSame(told, []);
    const read = new Database(file, { readonly: true });
    t.teardown(() => read.close());
    t.equal(read.prepare('SELECT count(*) FROM event').pluck().get(), 1);
  },
);

t.test('a start after a crash rewrites the WAL once', async (t) => {
  const { folder, db } = scratch(t);
  new Committer(db).append(...court(event()));
  const directory = new DataDirectory(folder);
  const { size } = fs.statSync(directory.file('wal'));
  const writes = t.capture(fs, 'writeSync', fs.writeSync);
  const store = await Store.open(directory, recorder().on);
  t.equal(writes().filter((call) => 'returned' in call && call.returned === size).length, 1);
  await store.close();
});
