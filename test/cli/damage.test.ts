import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../harness/daemon.ts';
import { leadBack } from '../harness/damage.ts';
import { event, events } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import {
  Committer,
  countAndClose,
  court,
  type StoppedBox,
  scratch,
  stoppedBox,
} from '../harness/scratchStore.ts';

/** Stored values that have changed, and rows that are gone: what each reader of events says and leaves out. */

runInProcess();

const PAGE_BYTES = 4096;
const MANY = ['export', '--since', '2000-01-01', '--format', 'ndjson'];

/** A box of twenty events of session-1, the third of which is changed. */
function damagedBox(t: Test, sql: string): StoppedBox {
  const box = stoppedBox(t);
  const db = new Database(path.join(box.data, 'courtd.db'));
  db.exec(sql);
  db.close();
  return box;
}

const CHANGES: readonly (readonly [what: string, sql: string])[] = [
  ['a value', 'UPDATE event SET confidence = 0.5 WHERE seq = 3'],
  ['a text that is JSON still', "UPDATE event SET payload = replace(payload, '12.5', '12.6') WHERE seq = 3"],
  ['a text that is no JSON any more', "UPDATE event SET payload = replace(payload, ',', '!') WHERE seq = 3"],
  ['unknown fields that are no object', "UPDATE event SET extra = '[]' WHERE seq = 3"],
  ['its place in the order', 'UPDATE event SET eot_ns = eot_ns + 1 WHERE seq = 3'],
  ['the time of receipt', 'UPDATE event SET received_ms = received_ms - 1 WHERE seq = 3'],
  ['a revision that is NULL', 'UPDATE event SET revision = NULL WHERE seq = 3'],
  [
    'the names',
    "INSERT INTO origin SELECT 2, venue, 'court-9', source, type, schema_version FROM origin; UPDATE event SET origin = 2 WHERE seq = 3",
  ],
  ['names that are missing', 'UPDATE event SET origin = 7 WHERE seq = 3'],
];

const FORMATS = ['csv', 'ndjson', 'xlsx', 'parquet'];

for (const [i, [what, sql]] of CHANGES.entries()) {
  t.test(`${what} has changed: every reader leaves the event out, names it and fails`, async (t) => {
    const { data, command } = damagedBox(t, sql);
    const named = /left out: event "[0-9a-f]+" \(revision \S+, seq 3\) of session "session-1"/;
    // After the first change, the formats take turns: all are written by one reader.
    for (const format of i === 0 ? FORMATS : [FORMATS[i % FORMATS.length]!]) {
      const file = path.join(temporaryFolder(t), 'out');
      const { status, stderr } = await command('export', 'session-1', '--format', format, '-o', file);
      t.equal(status, 1, format);
      t.match(stderr, named);
      t.match(stderr, /^19 events (?:written|read; 19 rows)/, 'the others are written');
    }
    const others = [
      ['report', 'session-1'],
      ['session', 'show', 'session-1'],
    ];
    for (const reader of others)
      t.match(await command(...reader), { status: 1, stderr: named }, reader.join(' '));
    const part = await command('export', 'session-1', '--court', 'court-7', '--to', '2020-01-01T00:00:00Z');
    t.match(part, { status: 1, stderr: named }, 'whatever the filter: it may be of any court and time');
    const tail = await commandInProcess(['tail', '--json', '--after', '0', '--data', data]);
    t.match(tail, { status: 1, stderr: named });
    t.equal(tail.stdout.trimEnd().split('\n').length, 19);
  });
}

t.test('event show names a damaged revision', async (t) => {
  const { data, command } = damagedBox(t, 'UPDATE event SET confidence = 0.5 WHERE seq = 3');
  const db = new Database(path.join(data, 'courtd.db'), { readonly: true });
  const id = db.prepare<[], string>('SELECT event_id FROM event WHERE seq = 3').pluck().get()!;
  db.close();
  t.match(await command('event', 'show', 'session-1', id), { status: 1, stderr: `left out: event "${id}"` });
});

t.test('rows that are gone, and counts that are wrong: the export says how many', async (t) => {
  const gone = damagedBox(t, 'DELETE FROM event WHERE seq IN (3, 4)');
  const said = 'Session "session-1" counts 20 events and has 18: 2 cannot be found.';
  t.match(await gone.command('export', 'session-1'), { status: 1, stderr: said });
  for (const count of [19, 4e9]) {
    const { command } = damagedBox(t, `UPDATE session SET events = ${count}`);
    const { status, stdout, stderr } = await command('export', 'session-1', '--format', 'ndjson');
    t.equal(status, 1);
    t.match(stderr, `Session "session-1" counts ${count} events and has 20: `);
    t.equal(stdout.split('\n').length - 1, 20, 'all of them are written');
  }
});

t.test('a page that leads to some events twice, and to others never: the export says how many', async (t) => {
  const box = stoppedBox(t, 400);
  leadBack(box.data, 'first');
  const { status, stderr } = await box.command('export', 'session-1');
  t.equal(status, 1);
  t.match(stderr, /Session "session-1" counts 400 events and has \d+: \d+ cannot be found\./);
});

t.test('what a prune has deleted is not missed', async (t) => {
  const { command } = damagedBox(
    t,
    'DELETE FROM event WHERE seq IN (3, 4); UPDATE session SET events = 18; UPDATE pruned SET up_to_seq = 4',
  );
  t.match(await command('export', 'session-1'), { status: 0, stderr: /^18 events written; as_of [^\n]+\n$/ });
});

t.test('a page of one session is damaged: it is named, and the export continues with the next', async (t) => {
  const { folder, db } = scratch(t);
  const writer = new Committer(db);
  for (const session_id of ['a', 'b', 'c']) writer.append(...court(...events(200, { session_id })));
  writer.sealAll();
  const pages = db
    .prepare<[], number>("SELECT pageno FROM dbstat WHERE name = 'event' AND pagetype = 'leaf' ORDER BY path")
    .pluck()
    .all();
  countAndClose(db);
  const page = pages[Math.floor(pages.length / 2)]!;
  const file = fs.readFileSync(path.join(folder, 'courtd.db'));
  fs.writeFileSync(
    path.join(folder, 'courtd.db'),
    file.fill(0xa5, (page - 1) * PAGE_BYTES, page * PAGE_BYTES),
  );
  const day = path.join(temporaryFolder(t), 'day/');
  const { status, stderr } = await commandInProcess([...MANY, '-o', day, '--data', folder], { TZ: 'UTC' });
  t.equal(status, 1);
  t.match(stderr, 'Session "b" cannot be read');
  const [folderOfDay = ''] = fs.readdirSync(day);
  t.strictSame(fs.readdirSync(path.join(day, folderOfDay)).sort(), ['a.ndjson', 'c.ndjson']);
});

t.test('a session that cannot be read at all is named, and the others are written', async (t) => {
  const { folder, db } = scratch(t);
  new Committer(db).append(...['a', 'b', 'c'].flatMap((session_id) => court(...events(3, { session_id }))));
  db.unsafeMode(true);
  db.pragma('writable_schema = ON');
  db.exec("UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'session'");
  db.close();
  const other = new Database(path.join(folder, 'courtd.db'));
  other.exec("UPDATE session SET name = x'ff' WHERE name = 'b'");
  other.close();
  const day = path.join(temporaryFolder(t), 'day/');
  const { status, stderr } = await commandInProcess([...MANY, '-o', day, '--data', folder], { TZ: 'UTC' });
  t.equal(status, 1);
  t.match(stderr, 'A session has lost its name');
  const [folderOfDay = ''] = fs.readdirSync(day);
  t.strictSame(fs.readdirSync(path.join(day, folderOfDay)).sort(), ['a.ndjson', 'c.ndjson']);
});

t.test('a backup of a damaged database is made and says so, and the older ones stay', async (t) => {
  const { command } = damagedBox(t, 'UPDATE event SET confidence = 0.5 WHERE seq = 3');
  const place = temporaryFolder(t);
  for (const _ of ['first', 'second']) {
    const { status, stderr } = await command('backup', place, '--keep', '1');
    t.equal(status, 1);
    t.match(
      stderr,
      /but the database is damaged: Damaged in the database, and left out: event .* No older backup was removed/,
    );
  }
  t.equal(fs.readdirSync(place).length, 2);
});

t.test('a seq that has become that of another event: the export says that one cannot be found', async (t) => {
  const { folder: data, db } = scratch(t);
  const sent = Array.from({ length: 900 }, (_, i) => event({ event_id: `event-${i + 1}.` }));
  new Committer(db).append(...court(...sent));
  countAndClose(db);
  const bytes = fs.readFileSync(path.join(data, 'courtd.db'));
  // The varint of 887 before its row, and one of its bits: 375.
  const at = bytes.lastIndexOf(Buffer.of(0x86, 0x77), bytes.indexOf('event-887.'));
  bytes[at] = 0x82;
  fs.writeFileSync(path.join(data, 'courtd.db'), bytes);
  const { status, stdout, stderr } = await commandInProcess([
    'export',
    'session-1',
    '--format',
    'ndjson',
    '--data',
    data,
  ]);
  t.equal(status, 1);
  t.match(stderr, 'counts 900 events and has 899: 1 cannot be found');
  t.equal(new Set(stdout.split('\n')).size, 900);
});
