import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { mock } from 'node:test';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { OperatorError } from '../../../src/base/operatorError.ts';
import { SCHEMA_VERSION } from '../../../src/store/layout/schema.ts';
import { type UpgradeStep, upgradeDatabase } from '../../../src/store/upgrade/upgradeDatabase.ts';
import { setClock, stopClock } from '../../harness/clock.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

/** What an upgrade does around its migrations, of which there are none from the layout of now. The real ones: upgrade.proof.ts. */

const COPY = `courtd.db.layout-${SCHEMA_VERSION}`;

/** A database with one event, and its upgrade, which tells of a stage again only where the test has time pass. */
function make(t: Test) {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { folder, db } = scratch(t);
  new Committer(db).append(...court(event()));
  db.close();
  const file = path.join(folder, 'courtd.db');
  const steps: UpgradeStep[] = [];
  const upgrade = (on: (step: UpgradeStep) => void = () => {}) =>
    upgradeDatabase(file, SCHEMA_VERSION, {
      upgrading: (step) => {
        steps.push(step);
        on(step);
      },
    });
  return { folder, file, steps, upgrade };
}

t.test('each stage is told once, and the database is copied first', async (t) => {
  const { folder, file, steps, upgrade } = make(t);
  stopClock(t);
  await upgrade();
  t.match(steps, [{ doing: 'copying', bytes: 0 }, { doing: 'changing' }, { doing: 'done' }]);
  t.equal(steps.length, 3);
  const { bytes, copy } = steps[2]!;
  t.equal(copy, path.join(folder, COPY));
  t.equal(bytes, fs.statSync(copy).size);
  for (const name of [copy, file]) {
    const db = new Database(name, { readonly: true });
    t.equal(db.prepare('SELECT count(*) FROM event').pluck().get(), 1);
    db.close();
  }
});

t.test('a stage that takes long is told again, and no more when it is over', async (t) => {
  const { steps, upgrade } = make(t);
  // Each look at it finds it so much later.
  let ms = 0;
  setClock(t, () => (ms += 5_001));
  await upgrade(({ doing }) => {
    // While the worker runs; the timer is set after this.
    if (doing === 'changing') queueMicrotask(() => steps.length === changing() && mock.timers.tick(5_000));
  });
  function changing(): number {
    return steps.findIndex(({ doing }) => doing === 'changing') + 1;
  }
  const told = steps.map(({ doing }) => doing);
  t.strictSame([...new Set(told)], ['copying', 'changing', 'done']);
  t.ok(told.filter((doing) => doing === 'copying').length > 1);
  t.equal(told.filter((doing) => doing === 'changing').length, 2);
  mock.timers.tick(60_000);
  t.equal(steps.length, told.length);
});

t.test('what an upgrade that was killed has left goes, and nothing else', async (t) => {
  const { folder, upgrade } = make(t);
  // No process has such a number.
  const left = [`.${COPY}.99999999.partial`, `.${COPY}.99999999.partial-journal`];
  const other = '.courtd.db.99999999.partial';
  for (const name of [...left, other]) fs.writeFileSync(path.join(folder, name), '');
  await upgrade();
  t.strictSame(
    fs.readdirSync(folder).filter((name) => name.includes('partial')),
    [other],
  );
});

t.test('without room for the copy, or where it fails, nothing is changed', async (t) => {
  const { folder, file, steps, upgrade } = make(t);
  const bytes = fs.readFileSync(file);
  const { statfsSync, renameSync } = fs;
  t.teardown(() => Object.assign(fs, { statfsSync, renameSync }));
  Object.assign(fs, { statfsSync: () => ({ bavail: 3, bsize: 4096 }) });
  const refused = async (sentence: RegExp) => {
    const failure = await upgrade().catch((error) => error);
    t.type(failure, OperatorError);
    t.match(failure.message, sentence);
  };
  await refused(
    /courtd\.db is upgraded only after it has been copied, which needs 1 MiB, and 0 MiB are free: /,
  );
  Object.assign(fs, { statfsSync });
  fs.renameSync = () => {
    throw Object.assign(new Error(), { code: 'EROFS', errno: -os.constants.errno.EROFS });
  };
  await refused(
    /courtd\.db is upgraded only after it has been copied, and the copy failed\. Cannot write to .* Nothing was changed\.$/,
  );
  t.strictSame([...new Set(steps.map(({ doing }) => doing))], ['copying']);
  t.ok(fs.readFileSync(file).equals(bytes));
  t.notOk(fs.readdirSync(folder).some((name) => name.includes(COPY)));
});

t.test('a migration that fails in its middle changes nothing', async (t) => {
  const { file, upgrade } = make(t);
  const tables = (change = '') => {
    const db = new Database(file);
    db.exec(change);
    const names = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all();
    db.close();
    return names;
  };
  let before: unknown;
  const failure = upgrade(({ doing }) => {
    // The first migration makes this table, and finds that there is one of the next name.
    if (doing === 'changing') before = tables('DROP TABLE session; PRAGMA user_version = 0');
  });
  await t.rejects(failure, { code: 'SQLITE_ERROR', message: /already exists/ });
  t.strictSame(tables(), before);
});

t.test('a file that is no database any more is told with its code, and the copy stays', async (t) => {
  const { folder, file, steps, upgrade } = make(t);
  const failure = upgrade(({ doing }) => {
    if (doing === 'changing') fs.writeFileSync(file, Buffer.alloc(8_192, 'x'));
  });
  await t.rejects(failure, { code: 'SQLITE_NOTADB' });
  t.equal(steps.at(-1)?.doing, 'changing');
  t.ok(fs.existsSync(path.join(folder, COPY)));
});
