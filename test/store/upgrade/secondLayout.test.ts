import Database from 'better-sqlite3';
import t from 'tap';
import { databaseFile } from '../../../src/store/directory/dataDirectory.ts';
import { readEpochs } from '../../../src/store/layout/epochs.ts';
import { MIGRATIONS, migrate, SCHEMA_VERSION } from '../../../src/store/layout/schema.ts';
import { countConflicts, readConflicts } from '../../../src/store/read/conflicts.ts';
import { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { court, recorder } from '../../harness/scratchStore.ts';

t.test('a database of the first layout: what it counted stays, and what comes is kept', async (t) => {
  const folder = temporaryFolder(t);
  const first = new Database(databaseFile(folder));
  first.pragma('auto_vacuum = INCREMENTAL');
  first.pragma('journal_mode = WAL');
  first.transaction(() => migrate(first, MIGRATIONS.slice(0, 1)))();
  first.exec(`INSERT INTO token (hash, created_ms) VALUES (x'00', 1)`);
  first.close();

  const { on, told } = recorder();
  const store = await Store.open(folder, on);
  t.ok(told.includes('upgrading'));
  t.strictSame(store.rejections(), []);
  const sent = event();
  await store.append(court(sent));
  await store.append(court({ ...sent, confidence: 0.5 }));
  const rejection = {
    turn: 1,
    id: 'id',
    atMs: 1,
    client: '10.0.0.1',
    status: 400,
    code: 'invalid_json',
    source: null,
    courtId: null,
    events: null,
    error: 'no JSON',
    body: Buffer.from([0, 255]),
    bodyBytes: 2,
  };
  t.ok(store.writeRejections({ added: [rejection], gone: [] }));
  t.match(store.rejections(), [rejection]);
  await store.close();

  const db = new Database(databaseFile(folder), { readonly: true });
  t.teardown(() => db.close());
  t.equal(db.pragma('user_version', { simple: true }), SCHEMA_VERSION);
  t.equal(readEpochs(db).length, 1);
  t.equal(countConflicts(db), 1);
  t.match([...readConflicts(db)].flat(), [{ times: 1, other: /"confidence":0.5/ }]);
});

t.test('a table of rejections that is damaged keeps no event from being stored', async (t) => {
  const folder = temporaryFolder(t);
  const { on, told } = recorder();
  await (await Store.open(folder, on)).close();
  const db = new Database(databaseFile(folder));
  db.exec('DROP TABLE rejection');
  db.close();
  const store = await Store.open(folder, on);
  t.strictSame(store.rejections(), []);
  t.notOk(store.writeRejections({ added: [], gone: [1] }));
  t.ok(told.includes('unexpected'));
  t.match(await store.append(court(event())), { accepted: 1 });
  await store.close();
});
