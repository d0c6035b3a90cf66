import type { Database } from 'better-sqlite3';
import t from 'tap';
import { keyHash } from '../../../src/store/db/keyHash.ts';
import { failureKind } from '../../../src/store/db/sqliteErrors.ts';
import { EventKeys, KEY_LIMITS } from '../../../src/store/write/keys.ts';
import { events } from '../../harness/events.ts';
import { Committer, court, keyState, otherConnection, scratch } from '../../harness/scratchStore.ts';

const FULL = 2;
const NEW = { accepted: 100, duplicates: 0, conflicts: 0 };
const KNOWN = { accepted: 0, duplicates: 100, conflicts: 0 };

/** Fails as a disk does that is full. */
function fillUp(db: Database): void {
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
}

t.test('keys that are rolled back because the disk is full are not known, and those before are', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  const [first, second] = [court(...events(100)), court(...events(100))];
  t.strictSame(store.append(...first), NEW);
  fillUp(db);
  t.throws(() => store.append(...second), { code: 'SQLITE_FULL' });
  t.equal(store.appender.keys.count, 100);
  db.pragma('max_page_count = 1000000');
  t.strictSame(store.append(...second), NEW);
  t.strictSame(store.append(...first), KNOWN);
  t.strictSame(store.append(...second), KNOWN);
  t.end();
});

t.test('a failed step of a move changes no keys', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db, Date.now, { ...KEY_LIMITS, step: 60 });
  const sent = court(...events(2_000));
  store.append(...sent);
  store.appender.keys.moveStep();
  fillUp(db);
  t.throws(() => {
    while (!store.appender.keys.moveStep());
  }, /full/);
  t.match(keyState(db), { unknown: 0, astray: 0 });
  db.pragma('max_page_count = 1000000');
  store.sealAll();
  t.match(keyState(db), { moved: 2_000, recent: 0, unknown: 0, twice: 0, astray: 0 });
  t.equal(store.appender.keys.count, 0);
  t.end();
});

t.test('a key that comes while others move stays in memory, and is known', (t) => {
  const { folder, db } = scratch(t);
  const store = new Committer(db, Date.now, { ...KEY_LIMITS, step: 30 });
  const [before, meanwhile] = [court(...events(100)), court(...events(100))];
  store.append(...before);
  store.appender.keys.moveStep();
  t.strictSame(store.append(...meanwhile), NEW);
  t.strictSame(store.append(...before), KNOWN);
  store.sealAll();
  t.match(keyState(db), { moved: 100, recent: 100, unknown: 0, twice: 0, astray: 0 });
  for (const sent of [before, meanwhile]) t.strictSame(store.append(...sent), KNOWN);
  db.close();
  const { db: reopened } = scratch(t, folder);
  const second = new Committer(reopened);
  t.equal(second.appender.keys.count, 100);
  for (const sent of [before, meanwhile]) t.strictSame(second.append(...sent), KNOWN);
  t.end();
});

t.test('a move begins when there are too many keys, and is due until it is over', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db, Date.now, { move: 10, most: 100, step: 5 });
  const { keys } = store.appender;
  store.append(...court(...events(9)));
  t.equal(keys.isMoveDue, false);
  store.append(...court(...events(1)));
  t.equal(keys.isMoveDue, true);
  keys.moveStep();
  store.append(...court(...events(4)));
  t.equal(keys.isMoveDue, true, 'until it is over');
  while (!keys.moveStep());
  t.equal(keys.isMoveDue, false);
  t.equal(keys.count, 4, 'those that came meanwhile');
  t.end();
});

t.test('commits after a step are synced again, whether the step succeeded or failed', (t) => {
  const { folder, db } = scratch(t);
  db.pragma('busy_timeout = 0');
  const synchronous = () => db.pragma('synchronous', { simple: true });
  const keys = new EventKeys(db);
  const pragmas: string[] = [];
  const { pragma } = db;
  let failure: string | undefined;
  db.pragma = (source, options) => {
    pragmas.push(source);
    if (source === failure) throw new Error('as if');
    return pragma.call(db, source, options);
  };
  db.exec("INSERT INTO event (seq, session, event_id, revision) VALUES (3, 1, 'a', 0)");
  keys.insert([{ session: 1, hash: keyHash('a'), revision: 0, seq: 3 }]);

  const other = otherConnection(t, folder);
  other.exec('BEGIN IMMEDIATE');
  t.throws(() => keys.moveStep(), { code: 'SQLITE_BUSY' });
  t.equal(synchronous(), FULL);
  other.exec('ROLLBACK');

  pragmas.length = 0;
  keys.moveStep();
  t.strictSame(pragmas, ['synchronous = NORMAL', 'synchronous = FULL']);
  t.equal(synchronous(), FULL);
  t.strictSame(db.prepare('SELECT * FROM key').all(), [
    { session: 1, hash: keyHash('a'), revision: 0, seq: 3 },
  ]);

  failure = 'synchronous = FULL';
  try {
    keys.moveStep();
    t.fail('the step passed');
  } catch (error) {
    t.equal(failureKind(error), 'fatal');
  }
  t.end();
});
