import fs from 'node:fs';
import { mock } from 'node:test';
import t from 'tap';
import { Checkpointer } from '../../../src/store/db/checkpointer.ts';
import { PAGE_BYTES } from '../../../src/store/db/schema.ts';
import { watchWal } from '../../../src/store/db/watchWal.ts';
import { fillWal, otherConnection, scratch } from '../../harness/scratchStore.ts';

const MIB = 1024 ** 2;

t.test('behind a reader the WAL is large, then over its limit; both end when the reader has gone', (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { folder, db } = scratch(t);
  // As the daemon has it (store.ts).
  db.pragma('busy_timeout = 0');
  const told: string[] = [];
  const on = {
    walLarge: () => told.push('large'),
    walSmall: () => told.push('small'),
    walOver: (isOver: boolean) => told.push(isOver ? 'over' : 'under'),
  };
  const limits = { warnBytes: MIB, maxBytes: 2 * MIB };
  t.teardown(watchWal(new Checkpointer(db, (error) => void t.error(error)), db.name, on, limits));
  const reader = otherConnection(t, folder);
  reader.exec('BEGIN; SELECT count(*) FROM session');
  const lookAfter = (mib: number) => {
    if (mib > 0) fillWal(db, (mib * MIB) / PAGE_BYTES);
    mock.timers.tick(1_000);
    return told.splice(0);
  };
  t.strictSame(lookAfter(0.8), []);
  t.strictSame(lookAfter(0.6), ['large']);
  t.strictSame(lookAfter(0), [], 'once');
  t.strictSame(lookAfter(1), ['over']);
  reader.exec('COMMIT');
  t.strictSame(lookAfter(0), ['small', 'under'], 'with no event');
  t.equal(fs.statSync(`${db.name}-wal`).size, 0);
  t.end();
});
