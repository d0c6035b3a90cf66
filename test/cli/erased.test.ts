import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { askDuckDb } from '../harness/duckdb.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { csvObjects } from '../harness/rfc4180.ts';
import { Committer, court, reseal, scratch } from '../harness/scratchStore.ts';

runInProcess();

/** A field of the mark's name is the camera's. */
const kept = event({ event_id: 'kept', erased: 'mine' });
const gone = event({ event_id: 'gone', type: 'PLAYER_POSITION', payload: { player_id: 'anna' } });
const left = { ...gone, payload: {} };

/** As an erasure leaves it. */
const { folder: data, db } = scratch(t);
new Committer(db).append(...court(kept, gone));
db.exec("UPDATE event SET payload = '{}', erased = 1 WHERE event_id = 'gone'");
reseal(db);
const view = db.prepare('SELECT event_id, erased FROM events ORDER BY seq').raw().all();
db.close();
const out = async (...args: string[]) => (await courtd([...args, '--data', data])).stdout;
const lines = async (...args: string[]) =>
  (await out(...args))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

t.test('event show marks an event of which a player was erased', async (t) => {
  const [shown] = JSON.parse(await out('event', 'show', 'session-1', 'gone', '--json'));
  t.strictSame([shown.erased, shown.event], [true, left]);
  const [other] = JSON.parse(await out('event', 'show', 'session-1', 'kept', '--json'));
  t.strictSame([Object.hasOwn(other, 'erased'), other.event], [false, kept]);
  t.match(
    await out('event', 'show', 'session-1', 'gone'),
    /^revision 0 \(current; a player was erased from it\)\n/,
  );
});

t.test('tail has the mark beside the event, NDJSON as its first member', async (t) => {
  const around = (line: Record<string, unknown>) => ({ ...line, seq: undefined, received_at: undefined });
  const tail = await lines('tail', '--after', '0', '--json');
  t.match(tail.map(around), [{ event: kept }, { erased: true, event: left }]);
  t.notOk(Object.hasOwn(tail[0], 'erased'));
  const ndjson = ['export', 'session-1', '--format', 'ndjson'];
  t.strictSame(await lines(...ndjson), [kept, { erased: true, ...left }]);
});

t.test('CSV, Parquet and the view events have a column for it', async (t) => {
  const rows = csvObjects(await out('export', 'session-1'));
  t.strictSame(
    rows.map((row) => [row.event_id, row.erased]),
    [
      ['kept', 'false'],
      ['gone', 'true'],
    ],
  );
  const file = path.join(temporaryFolder(t), 'out.parquet');
  await out('export', 'session-1', '--format', 'parquet', '-o', file);
  t.strictSame(await askDuckDb(`SELECT event_id, erased FROM '${file}'`), [
    { event_id: 'kept', erased: false },
    { event_id: 'gone', erased: true },
  ]);
  t.strictSame(view, [
    ['kept', 0],
    ['gone', 1],
  ]);
});

t.test(
  'an export with the mark can be imported: here it is a duplicate, elsewhere what was left',
  async (t) => {
    const [box, other] = [await Daemon.run(t, data, ''), await Daemon.start(t)];
    const ndjson = ['export', 'session-1', '--format', 'ndjson'];
    const file = path.join(temporaryFolder(t), 'out.ndjson');
    fs.writeFileSync(file, await out(...ndjson));
    const here = await box.command('import', file);
    t.match(here, { status: 0, stderr: /2 events of 1 file: 0 accepted, 2 duplicates/ });
    t.match(await other.command('import', file), { status: 0 });
    const { stdout } = await other.command(...ndjson);
    t.strictSame(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [kept, left],
    );
  },
);

t.test('an erased event that does not match its checksum is left out, and named', async (t) => {
  const { folder, db } = scratch(t);
  new Committer(db).append(...court(kept, gone));
  db.exec("UPDATE event SET payload = '{}', erased = 1 WHERE event_id = 'gone'");
  db.close();
  const { status, stdout, stderr } = await courtd(['export', 'session-1', '--data', folder]);
  t.equal(status, 1);
  t.notMatch(stdout, 'gone');
  t.match(stderr, 'event "gone"');
});
