import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { BIN, Daemon, start } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

const MIB = 1024 ** 2;
const DAY_MS = 86_400_000;

t.test(
  'a prune waits for a reader that does not end, keeps the WAL small, and continues after it',
  async (t) => {
    const { folder, db } = scratch(t);
    const committer = new Committer(db, () => Date.now() - 100 * DAY_MS);
    // Every page is changed by it: without the wait the log would be longer than what it may be.
    for (let i = 0; i < 150; i++) {
      const both = [...events(500), ...events(500, { type: 'PLAYER_POSITION' })];
      committer.append(...court(...both.sort((a, b) => (a.event_id < b.event_id ? -1 : 1))));
    }
    committer.sealAll();
    db.close();
    const daemon = await Daemon.run(t, folder, '');
    const reader = new Database(path.join(folder, 'courtd.db'), { readonly: true });
    t.teardown(() => reader.close());
    reader.exec('BEGIN; SELECT * FROM session');
    const positions = ['--older-than', '90d', '--type', 'PLAYER_POSITION', '--yes'];
    const child = start(BIN, ['prune', ...positions, '--data', folder]);
    const ended = new Promise((resolve) => child.once('close', resolve));
    t.teardown(() => child.kill('SIGKILL'));
    let told = '';
    child.stderr.on('data', (text) => {
      told += text;
    });
    await sleep(5_000);
    t.equal(told, '', 'it waits');
    const bytes = fs.statSync(path.join(folder, 'courtd.db-wal')).size;
    t.ok(bytes < 20 * MIB, `${bytes} bytes`);
    reader.exec('COMMIT');
    t.equal(await ended, 0);
    t.match(told, /^Deleted 75000 PLAYER_POSITION events of 1 session, /m);
    t.equal(await daemon.stop(), 0);
    t.equal(reader.prepare('SELECT count(*) FROM event').pluck().get(), 75_000);
  },
);
