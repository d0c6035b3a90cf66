import t from 'tap';
import { REVISION_MAX } from '../../../src/base/limits.ts';
import { DedupIndex } from '../../../src/store/dedup/dedupIndex.ts';
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
