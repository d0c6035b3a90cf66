import fs from 'node:fs';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { BUSY_RETRY_MS } from '../../../src/base/limits.ts';
import { fillReserve } from '../../../src/store/db/diskReserve.ts';
import type { EventKeys } from '../../../src/store/write/keys.ts';
import { MAINTENANCE_RETRY_MS, MaintenanceSteps } from '../../../src/store/write/maintenanceSteps.ts';
import { setClock } from '../../harness/clock.ts';
import { otherConnection, scratch } from '../../harness/scratchStore.ts';

/** Maintenance of a real database whose steps of a move fail with `failure`, on a stopped clock. */
function failing(t: Test, failure: unknown) {
  const { folder, db } = scratch(t);
  db.pragma('busy_timeout = 0');
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(what);
  const clock = { now: performance.now(), moves: 0 };
  setClock(t, () => clock.now);
  const keys = {
    isMoveDue: true,
    moveStep: () => {
      clock.moves++;
      throw failure;
    },
  } as unknown as EventKeys;
  const on = { fatal: tell('fatal'), damaged: tell('damaged'), unexpected: tell('unexpected') };
  return { folder, db, told, clock, steps: new MaintenanceSteps(db, keys, { isFull: false }, on) };
}

const sqlite = (code: string) => new Database.SqliteError('as if', code);
const walBytes = (db: Database.Database) => fs.statSync(`${db.name}-wal`).size;

for (const [code, pauseMs] of [
  ['SQLITE_FULL', MAINTENANCE_RETRY_MS],
  ['SQLITE_BUSY', BUSY_RETRY_MS],
] as const) {
  t.test(`after ${code} the next step runs after a pause, and nothing is reported`, async (t) => {
    const { steps, told, clock } = failing(t, sqlite(code));
    steps.step();
    t.equal(steps.isDue, false);
    clock.now += pauseMs - 1;
    steps.step();
    t.equal(clock.moves, 1);
    clock.now += 1;
    t.equal(steps.isDue, true);
    steps.step();
    t.equal(clock.moves, 2);
    t.strictSame(told, []);
  });
}

t.test('a damaged page stops only the move; other failures are reported as they are', async (t) => {
  for (const [failure, kind] of [
    [sqlite('SQLITE_CORRUPT'), 'damaged'],
    [sqlite('SQLITE_IOERR_FSYNC'), 'fatal'],
    [new TypeError('a bug'), 'unexpected'],
  ] as const) {
    const { steps, told } = failing(t, failure);
    steps.step();
    t.strictSame(told, [kind]);
  }
});

t.test(
  'on a full disk with a reserve the WAL is cut short, so that it stays within what the reserve is for',
  async (t) => {
    for (const hasReserve of [true, false]) {
      const { folder, db, steps } = failing(t, sqlite('SQLITE_FULL'));
      if (hasReserve) t.equal(fillReserve(new DataDirectory(folder)), true);
      db.exec('CREATE TABLE more (x)');
      t.ok(walBytes(db) > 0);
      steps.step();
      t.equal(walBytes(db) === 0, hasReserve);
    }
  },
);

t.test('a disk has room again after a write succeeds and a megabyte is free', async (t) => {
  const { folder, steps, told } = failing(t, undefined);
  const free = (bytes: number) =>
    t.intercept(fs, 'statfsSync', { value: () => ({ bavail: bytes / 512, bsize: 512 }) });
  free(1024 ** 2);
  t.equal(steps.hasRoom(), true);
  free(1024 ** 2 - 512);
  t.equal(steps.hasRoom(), false);
  free(1024 ** 2);
  const other = otherConnection(t, folder);
  other.exec('BEGIN IMMEDIATE');
  t.equal(steps.hasRoom(), false);
  other.exec('ROLLBACK');
  t.equal(steps.hasRoom(), true);
  t.strictSame(told, []);
});
