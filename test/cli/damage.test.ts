import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { PAGE_BYTES } from '../../src/store/db/schema.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { leadBack } from '../harness/damage.ts';
import { event, events } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';
import { Committer, countAndClose, court, scratch, stoppedBox } from '../harness/scratchStore.ts';

/** Stored values that have changed, and rows that are gone: what each reader of events says and leaves out. */

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
