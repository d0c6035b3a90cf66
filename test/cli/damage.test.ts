import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { PAGE_BYTES } from '../../src/store/db/schema.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { damagePages, leadBack, leavesOf } from '../harness/damage.ts';
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

/** Stored values that have changed, and rows that are gone: what a reader says and leaves out, and how a salvage brings them back. */

runInProcess();

const MANY = ['export', '--since', '2000-01-01', '--format', 'ndjson'];

t.test('a page that leads to some events twice, and to others never: the export says how many', async (t) => {
  const box = stoppedBox(t, 400);
  leadBack(box.data, 'first');
  const { status, stderr } = await box.command('export', 'session-1');
  t.equal(status, 1);
  t.match(stderr, /"session-1" .*400 events .*\d+/);
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

t.test('a seq that has become that of another event: the export says that one is missing', async (t) => {
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
  t.match(stderr, 'counts 900 events and has 899');
  t.equal(new Set(stdout.split('\n')).size, 900);
});

/** In a page that is not the first: https://www.sqlite.org/fileformat2.html#b_tree_pages */
const CELL_COUNT_AT = 3;
const [IN_BACKUP, AFTER_IT] = [20, 900];

/** A box with a backup, and events that came after it, of which an erasure has changed the last hundred. */
async function box(t: Test): Promise<StoppedBox & { backup: string; lines: () => Promise<string[]> }> {
  const stopped = stoppedBox(t, IN_BACKUP);
  const backup = path.join(temporaryFolder(t), 'backup.db');
  t.equal((await stopped.command('backup', backup)).status, 0);
  const { db } = scratch(t, stopped.data);
  const committer = new Committer(db);
  for (let batch = 1; batch <= AFTER_IT / 100; batch++) {
    const some = court(...events(100, { session_id: 'later' }));
    committer.append(...some.map((one) => (batch < 9 ? one : { ...one, erased: true })));
  }
  countAndClose(db);
  /** Every event as it is printed, but for its seq. */
  const lines = async () => {
    const { stdout } = await stopped.command('tail', '--json', '--after', '0');
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => line.replace(/^{"seq":\d+/, ''));
  };
  return { ...stopped, backup, lines };
}

t.test('--salvage brings back what came after the backup as it was, with its marks', async (t) => {
  const { command, backup, lines } = await box(t);
  const all = await lines();
  t.equal(all.filter((line) => line.includes('"erased":true')).length, 100);
  const { status, stdout, stderr } = await command('restore', backup, '--salvage');
  t.strictSame([status, stdout], [0, ''], stderr);
  t.match(stderr, /^The replaced database is kept as [^\n]+\nRestored .*: 20 events of 1 session/);
  t.match(stderr, /Salvaged 900 events /);
  t.strictSame(await lines(), all);
  const sessions = () => command('session', 'list', '--json').then((list) => list.stdout);
  const before = await sessions();
  await command('restore', backup, '--salvage');
  t.equal(await sessions(), before, 'a second salvage reads them twice, and counts no duplicate');
  t.match((await command('check', '--full')).stdout, /ok {4}database: Every page/);
});

t.test('--salvage replaces a damaged event of the backup by that of the replaced database', async (t) => {
  const { command, backup, lines } = await box(t);
  const all = await lines();
  const db = new Database(backup);
  db.exec('UPDATE event SET confidence = 0.125 WHERE seq = 3');
  db.close();
  const { status, stderr } = await command('restore', backup, '--salvage');
  t.equal(status, 1, 'the backup is damaged all the same');
  t.match(stderr, `Salvaged ${AFTER_IT + 1} events `);
  t.strictSame((await lines()).sort(), all.sort());
});

t.test('of a damaged database every event comes back that does not lie on a damaged page', async (t) => {
  const { data, command, backup, lines } = await box(t);
  const all = await lines();
  const leaves = leavesOf(data, 'event');
  const pages = [leaves.at(5)!, leaves.at(6)!, leaves.at(-1)!];
  const copy = new Database(path.join(data, 'courtd.db'), { readonly: true });
  const total = copy.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  const cells = copy
    .prepare<[string], number>(
      "SELECT ncell FROM dbstat WHERE name = 'event' AND pageno IN (SELECT value FROM json_each(?))",
    )
    .pluck()
    .all(JSON.stringify(pages))
    .reduce((sum, count) => sum + count, 0);
  copy.close();
  t.equal(total, IN_BACKUP + AFTER_IT);
  damagePages(data, 'event', () => pages);
  const { status, stderr } = await command('restore', backup, '--salvage');
  t.equal(status, 1);
  t.match(stderr, `: ${IN_BACKUP} events of`);
  t.match(stderr, `Salvaged ${AFTER_IT - cells} events `);
  t.match(stderr, `Up to ${cells} events could not be read.`);
  const back = await lines();
  t.equal(back.length, all.length - cells);
  t.strictSame(
    back.filter((line) => !all.includes(line)),
    [],
  );
});

t.test('an event that a page has lost without a trace is counted', async (t) => {
  const { data, command, backup, lines } = await box(t);
  const all = await lines();
  const leaves = leavesOf(data, 'event');
  const fd = fs.openSync(path.join(data, 'courtd.db'), 'r+');
  for (const page of [leaves.at(5)!, leaves.at(-1)!]) {
    const cells = Buffer.alloc(2);
    const at = (page - 1) * PAGE_BYTES + CELL_COUNT_AT;
    fs.readSync(fd, cells, 0, 2, at);
    cells.writeUInt16BE(cells.readUInt16BE() - 2);
    fs.writeSync(fd, cells, 0, 2, at);
  }
  fs.closeSync(fd);
  const { stderr } = await command('restore', backup, '--salvage');
  t.match(stderr, new RegExp(`Salvaged ${AFTER_IT - 4} events .* 4 events could not be read`));
  t.equal((await lines()).length, all.length - 4);
});

t.test('a database of which nothing can be read is reported, and the backup is restored', async (t) => {
  const { data, command, backup, lines } = await box(t);
  const file = path.join(data, 'courtd.db');
  fs.writeFileSync(file, fs.readFileSync(file).fill(0xa5));
  const { status, stderr } = await command('restore', backup, '--salvage');
  t.equal(status, 1);
  t.match(stderr, /Salvaged 0 events .* in 1 replaced database\./);
  t.equal((await lines()).length, IN_BACKUP);
});
