import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { CheckResult } from '../../src/health/checks.ts';
import { withDatabase } from '../../src/store/db/openDatabase.ts';
import { PAGE_BYTES } from '../../src/store/db/schema.ts';
import { sessionCounter } from '../../src/store/db/sessionCounter.ts';
import { checkConsistency } from '../../src/store/keep/verifyDatabase.ts';
import { courtd, Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';

const KEPT = 30;

/** A data directory with events in it, and the keys of all of them in the file. */
function flushed(t: Test): string {
  const { folder, db } = scratch(t);
  const writer = new Committer(db);
  for (let i = 0; i < KEPT; i++) {
    writer.append(...court(event({ session_id: i % 2 === 0 ? 'a' : 'b', event_id: `e${i}` })));
  }
  writer.append(...court(event({ session_id: 'a', event_id: 'e10', confidence: 0.5 })));
  writer.sealAll();
  db.transaction(sessionCounter(db))();
  db.close();
  return folder;
}

async function full(data: string): Promise<CheckResult> {
  const { stdout, stderr } = await courtd(['check', '--full', '--json', '--data', data]);
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as CheckResult[]).find(({ name }) => name === 'database')!;
}

/** Changes a database as no courtd does. */
function damage(t: Test, sql: string): string {
  const data = flushed(t);
  const db = new Database(path.join(data, 'courtd.db'));
  db.exec(sql);
  db.close();
  return data;
}

const consistencyOf = (data: string) =>
  withDatabase({ data: new DataDirectory(data) }, (db) => checkConsistency(db, () => {}));

t.test('--full: a database as it should be, and each way in which it may not be', async (t) => {
  const whole = flushed(t);
  const right = {
    damaged: 0,
    withoutKey: 0,
    astray: 0,
    miscounted: 0,
  };
  t.strictSame(await consistencyOf(whole), right);
  t.match(await full(whole), { level: 'ok' });
  const wrong: [sql: string, found: object][] = [
    ['DELETE FROM key WHERE seq = 7', { withoutKey: 1 }],
    ["UPDATE event SET event_id = 'other' WHERE seq = 7", { damaged: 1, withoutKey: 1, astray: 1 }],
    ['DELETE FROM event WHERE seq = 7', { astray: 1, miscounted: 1 }],
    ["UPDATE session SET events = events + 1 WHERE name = 'a'", { miscounted: 1 }],
    ["UPDATE event SET payload = '{\"x' WHERE seq = 7", { damaged: 1 }],
    ['UPDATE event SET origin = 99 WHERE seq = 7', { damaged: 1 }],
    ['UPDATE event SET confidence = 0.5 WHERE seq = 7', { damaged: 1 }],
    ["UPDATE origin SET court = 'court-9'", { damaged: KEPT }],
    [
      `INSERT INTO event SELECT 99, session, event_id, revision, eot_ns, eot, origin, confidence, received_ms,
              checksum, payload, extra, erased FROM event WHERE seq = 7;
       UPDATE session SET events = events + 1 WHERE id = (SELECT session FROM event WHERE seq = 7);
       UPDATE flushed SET counted_up_to = 99`,
      { withoutKey: 1, damaged: 1 },
    ],
  ];
  for (const [sql, found] of wrong)
    t.strictSame(await consistencyOf(damage(t, sql)), { ...right, ...found }, sql);
});

t.test('--full: what a prune that was cut short leaves is no fault', async (t) => {
  const data = damage(
    t,
    `DELETE FROM event WHERE seq = 7;
     UPDATE pruned SET up_to_seq = 7;
     UPDATE session SET events = events - 1 WHERE id = (SELECT session FROM key WHERE seq = 7)`,
  );
  t.match(await consistencyOf(data), { astray: 0, miscounted: 0 });
});

t.test('--full: a damaged page is a failure with what to do, and nothing is changed', async (t) => {
  const data = flushed(t);
  const file = path.join(data, 'courtd.db');
  const bytes = fs.readFileSync(file);
  const at = bytes.indexOf('"x_ft"');
  bytes.fill(0x7f, at - (at % PAGE_BYTES) + 8, at - (at % PAGE_BYTES) + 64);
  fs.writeFileSync(file, bytes);
  const { level, message, advice } = await full(data);
  t.equal(level, 'fail');
  t.match(message, /integrity check of SQLite finds|is damaged|cannot be read/);
  t.match(`${message} ${advice}`, /restore/);
  t.strictSame(fs.readFileSync(file), bytes);
});

t.test('check --full during events and a prune finds nothing wrong, and nothing is lost', async (t) => {
  const daemon = await Daemon.start(t);
  let isOver = false;
  let sent = 0;
  const camera = async () => {
    while (!isOver) {
      const response = await daemon.post(events(100));
      t.equal(response.status, 202);
      sent += 100;
    }
  };
  const cameras = Promise.all([camera(), camera()]);
  const [first] = await Promise.all([
    full(daemon.data),
    daemon.command('prune', '--older-than', '1s', '--yes'),
  ]);
  t.match(first.level, /ok|warn/, first.message);
  isOver = true;
  await cameras;
  t.match(await full(daemon.data), { level: 'ok' });
  t.ok(sent > 0);
  t.match(await courtd(['serve', '--port', '0', '--data', daemon.data]), {
    status: 1,
    stderr: '"courtd serve" or',
  });
  t.match(await (await daemon.post(event())).json(), { accepted: 1 }, 'the daemon still has its locks');
});

t.test('programs of the system that hang are not waited for', async (t) => {
  const system = new FakeSystemd(t);
  for (const name of ['systemctl', 'timedatectl']) system.program(name, 'exec sleep 600');
  const { stdout } = await system.courtd(['check', '--json', '--data', flushed(t)]);
  const found = (JSON.parse(stdout) as CheckResult[]).map(({ name, level }) => [name, level]);
  t.match(Object.fromEntries(found), { timer: 'warn', clock: 'warn' });
});
