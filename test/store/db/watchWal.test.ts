import fs from 'node:fs';
import path from 'node:path';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { Checkpointer } from '../../../src/store/db/checkpointer.ts';
import { PAGE_BYTES } from '../../../src/store/db/schema.ts';
import { watchWal } from '../../../src/store/db/watchWal.ts';
import { fillWal, otherConnection, scratch } from '../../harness/scratchStore.ts';

const MIB = 1024 ** 2;
const FRAMES_PER_MIB = MIB / PAGE_BYTES;
const CHECK_MS = 1_000;

/** A database whose WAL is large above 1 MiB and too large above 2, and the reports of it. */
function make(t: Test) {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { folder, db } = scratch(t);
  // As the daemon has it (store.ts).
  db.pragma('busy_timeout = 0');
  const told: string[] = [];
  const checkpoints = new Checkpointer(db, () => told.push('failed'));
  const on = {
    walLarge: (bytes: number) => told.push(bytes > MIB ? 'large' : 'wrong'),
    walSmall: (bytes: number) => told.push(bytes <= MIB ? 'small' : 'wrong'),
    walOver: (isOver: boolean) => told.push(isOver ? 'over' : 'under'),
  };
  const stop = watchWal(checkpoints, path.join(folder, 'courtd.db'), on, {
    warnBytes: MIB,
    maxBytes: 2 * MIB,
  });
  const fill = (mib: number) => fillWal(db, mib * FRAMES_PER_MIB);
  const pass = () => mock.timers.tick(CHECK_MS);
  const walBytes = () => fs.statSync(`${path.join(folder, 'courtd.db')}-wal`).size;
  return { folder, stop, told, fill, pass, walBytes };
}

t.test(
  'behind a reader the WAL is large once, then over its limit; both end when the reader has gone',
  (t) => {
    const { folder, stop, told, fill, pass, walBytes } = make(t);
    const reader = otherConnection(t, folder);
    reader.exec('BEGIN; SELECT count(*) FROM session');
    const look = () => {
      pass();
      return told.splice(0);
    };
    t.strictSame(look(), []);
    fill(0.8);
    t.strictSame(look(), []);
    fill(0.6);
    t.strictSame(look(), ['large']);
    t.strictSame(look(), [], 'once');
    fill(1);
    t.strictSame(look(), ['over']);
    t.strictSame(look(), [], 'once');
    reader.exec('COMMIT');
    t.strictSame(look(), ['small', 'under'], 'with no event');
    t.equal(walBytes(), 0);
    t.strictSame(look(), []);
    stop();
    reader.exec('BEGIN; SELECT count(*) FROM session');
    fill(3);
    t.strictSame(look(), [], 'nobody looks any more');
    t.end();
  },
);
