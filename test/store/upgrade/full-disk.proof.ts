import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { SCHEMA_VERSION } from '../../../src/store/layout/schema.ts';
import { BIN, Daemon, run, temporaryFolder } from '../../harness/daemon.ts';
import { events } from '../../harness/events.ts';
import { makeNewer } from '../../harness/newerCourtd.ts';
import { SmallDisk, withoutMount } from '../../harness/smallDisk.ts';

/** A courtd with one more migration than this one. */
const folder = temporaryFolder(t);
const NEWER = path.join(folder, 'newer');
makeNewer(NEWER);
const NEWER_BIN = path.join(NEWER, 'bin/courtd');

t.test('no room for the copy: nothing is changed, and it says so', { skip: withoutMount }, async (t) => {
  const disk = await SmallDisk.mount(t, 8);
  const daemon = await Daemon.start(t, [], disk.data);
  t.equal((await daemon.post(events(500))).status, 202);
  await daemon.stop();
  disk.fill(96 * 1024);
  const { status, stderr } = await run(NEWER_BIN, ['serve', '--port', '0', '--data', disk.data]);
  t.equal(status, 1);
  t.match(
    stderr,
    /^courtd: [^\n]+courtd\.db gets a new layout only after a copy of it has been made, which needs \d+ MiB, and 0 MiB are free: make room\. Nothing was changed\.\n$/,
  );
  const db = new Database(path.join(disk.data, 'courtd.db'), { readonly: true });
  t.equal(db.pragma('user_version', { simple: true }), SCHEMA_VERSION);
  t.equal(db.prepare('SELECT count(*) FROM event').pluck().get(), 500);
  db.close();
  t.notOk(fs.readdirSync(disk.data).some((name) => name.includes('layout') || name.includes('partial')));
  t.equal((await run(BIN, ['session', 'list', '--data', disk.data])).status, 0);
});
