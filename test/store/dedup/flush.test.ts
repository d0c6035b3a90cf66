import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { DedupIndex, MEMTABLE_KEYS } from '../../../src/store/dedup/dedupIndex.ts';
import { failureKind } from '../../../src/store/sqlite/errors.ts';
import { otherConnection, scratch } from '../../harness/scratchStore.ts';

const FULL = 2;

t.test(
  'what is committed behind a flush step is synced again, whether the step succeeded or not',
  async (t) => {
    const { folder, db } = scratch(t);
    db.pragma('busy_timeout = 0');
    const synchronous = () => db.pragma('synchronous', { simple: true });
    const keys = new DedupIndex(db);
    const pragmas: string[] = [];
    const { pragma } = db;
    let failure: string | undefined;
    db.pragma = (source, options) => {
      pragmas.push(source);
      if (source === failure) throw new Error('as if');
      return pragma.call(db, source, options);
    };
    keys.insert({ session: 1, hash: 2, revision: REVISION_MAX, seq: 3 });
    keys.flushStep();

    const other = otherConnection(t, folder);
    other.exec('BEGIN IMMEDIATE');
    t.throws(() => keys.flushStep(), { code: 'SQLITE_BUSY' });
    t.equal(synchronous(), FULL);
    other.exec('ROLLBACK');

    pragmas.length = 0;
    keys.flushStep();
    t.strictSame(pragmas, ['synchronous = NORMAL', 'synchronous = FULL']);
    t.equal(synchronous(), FULL);
    t.strictSame(db.prepare('SELECT *, typeof(revision) AS type FROM key').all(), [
      { session: 1, hash: 2, revision: REVISION_MAX, seq: 3, type: 'integer' },
    ]);

    failure = 'synchronous = FULL';
    keys.insert({ session: 1, hash: 3, revision: 0, seq: 4 });
    keys.flushStep();
    try {
      keys.flushStep();
      t.fail('the step passed');
    } catch (error) {
      t.equal(failureKind(error), 'fatal');
    }
  },
);

t.test(
  'one that began with few keys is gone on with by whoever began it, until there are as many as begin one',
  (t) => {
    const { db } = scratch(t);
    const keys = new DedupIndex(db);
    for (let seq = 1; seq <= 5; seq++) keys.insert({ session: 1, hash: seq, revision: 0, seq });
    keys.flushStep();
    t.ok(keys.isFlushing);
    t.notOk(keys.isFlushDue, 'not between commits of requests');
    for (let seq = 6; keys.count < MEMTABLE_KEYS; seq++)
      keys.insert({ session: 1, hash: seq, revision: 0, seq });
    t.ok(keys.isFlushDue);
    while (keys.isFlushing) keys.flushStep(2);
    t.equal(keys.count, MEMTABLE_KEYS - 5);
    t.notOk(keys.isFlushDue);
    t.end();
  },
);

t.test('a step writes as many keys as it may, and says that all are written with the last one only', (t) => {
  const { folder, db } = scratch(t);
  db.pragma('busy_timeout = 0');
  const keys = new DedupIndex(db);
  for (let seq = 1; seq <= 7; seq++) keys.insert({ session: 1, hash: -seq, revision: 0, seq });
  keys.flushStep();
  const seqs = db.prepare<[], number>('SELECT seq FROM key ORDER BY hash').pluck();
  const flushed = db.prepare<[], number>('SELECT up_to_seq FROM flushed').pluck();
  const step = (most: number) => {
    keys.flushStep(most);
    return [seqs.all(), flushed.get()];
  };
  t.strictSame(step(2), [[7, 6], 0]);
  const other = otherConnection(t, folder);
  other.exec('BEGIN IMMEDIATE');
  t.throws(() => step(2), { code: 'SQLITE_BUSY' });
  t.throws(() => step(1), { code: 'SQLITE_BUSY' });
  other.exec('ROLLBACK');
  t.strictSame(step(3), [[7, 6, 5, 4, 3], 0], 'what a step that failed was to write comes first');
  t.ok(keys.isFlushing);
  t.strictSame(step(3), [[7, 6, 5, 4, 3, 2, 1], 7]);
  t.notOk(keys.isFlushing);
  t.end();
});
