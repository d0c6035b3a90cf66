import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { toParquet } from '../../src/session/export/parquet.ts';
import { toWorkbook } from '../../src/session/export/sessionWorkbook.ts';
import { SHEET_ROWS, Sheet } from '../../src/session/export/sheet.ts';
import { BIN, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { askDuckDb } from '../harness/duckdb.ts';
import { event, events, eventText } from '../harness/events.ts';
import { usedMib } from '../harness/memory.ts';
import { missingPrograms } from '../harness/needs.ts';
import { reader } from '../harness/readEvents.ts';
import { csvObjects } from '../harness/rfc4180.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { objectsOf, sheetsOf, unzip } from '../harness/xlsx.ts';

/** XLSX and Parquet before other readers, on a terminal, on a full disk, and with as many events as they take. */

const WITHOUT_OFFICE = missingPrograms({ soffice: 'libreoffice-calc' }) ?? false;
/** All sheets of a workbook as CSV in UTF-8, each in a file of its own, as they are shown. */
const EVERY_SHEET = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1';
const ODD = ['0042', '12e5', '=1+1', '@SUM(A1)', '1/2', "'quoted", '_x0041_', 'a,"b"', '<&>', '🎾'];
const AS_OF = { seq: 1, ms: 0 };
/** More than a row group of Parquet. */
const EVENTS = 21_000;

t.test(
  'LibreOffice shows ids as they are, times in UTC, and numbers',
  { skip: WITHOUT_OFFICE },
  async (t) => {
    const daemon = await Daemon.start(t);
    const at = (i: number) => `2026-03-14T16:09:${10 + i}.5+01:00`;
    await daemon.post(ODD.map((event_id, i) => event({ event_id, eot: at(i), court_id: event_id })));
    const folder = temporaryFolder(t);
    const output = path.join(folder, 'out.xlsx');
    await daemon.command('export', 'session-1', '--format', 'xlsx', '-o', output);
    const profile = `-env:UserInstallation=file://${folder}/profile`;
    const args = [profile, '--headless', '--convert-to', EVERY_SHEET, '--outdir', folder, output];
    const converted = await run('soffice', args, { env: { ...process.env, HOME: folder } });
    t.equal(converted.status, 0, converted.stderr);
    const shown = fs.readFileSync(path.join(folder, 'out-Bounces.csv'), 'utf8').replaceAll('\n', '\r\n');
    t.strictSame(
      csvObjects(shown).map(({ event_id, court_id, eot, x_ft, is_in }) => [
        event_id,
        court_id,
        eot,
        x_ft,
        is_in,
      ]),
      ODD.map((id, i) => [id, id, `2026-03-14 15:09:${10 + i}.500`, '12.5', 'TRUE']),
    );
  },
);

t.test('DuckDB finds the events of the NDJSON in their order, with the same values', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const session_id = 'long';
  for (let sent = 0; sent < EVENTS; sent += 500) await daemon.post(events(500, { session_id }));
  const corrected = event({ session_id, payload: { x_ft: 1, y_ft: 2, is_in: true, note: 'é🎾"\n' } });
  await daemon.post([
    corrected,
    { ...corrected, revision: 2 ** 53 - 1, payload: { is_in: false }, lens: { wide: true } },
    event({ session_id, type: 'BALL_HIT', eot: '1700-02-28T00:00Z', payload: { player_id: '007' } }),
  ]);
  await daemon.post(
    eventText({ payload: '{"kmh":12345678901234567890.5}' }, { session_id, type: 'BALL_SPEED' }),
  );
  const file = path.join(temporaryFolder(t), 'out.parquet');
  t.match(await daemon.command('export', session_id, '--format', 'parquet', '-o', file), { status: 0 });
  const lines = (await daemon.exported(session_id)).map((line) => JSON.parse(line));
  const rows = await askDuckDb(`SELECT * FROM '${file}'`);
  t.strictSame(
    rows.map(({ event_id, revision, eot_text, x_ft, is_in, kmh, player_id, payload, extra }) => ({
      ...{ event_id, revision: Number(revision), eot: eot_text, extra: JSON.parse(String(extra)) },
      ...{ payload: JSON.parse(String(payload)), columns: [x_ft, is_in, kmh, player_id] },
    })),
    lines.map(({ event_id, revision, eot, payload, lens }) => ({
      ...{ event_id, revision, eot, extra: lens === undefined ? null : { lens }, payload },
      columns: [payload.x_ft, payload.is_in, payload.kmh, payload.player_id].map((value) => value ?? null),
    })),
  );
  const [facts] = await askDuckDb(`
    SELECT count(DISTINCT row_group_id) AS groups FROM parquet_metadata('${file}')`);
  t.match(facts, { groups: '2' });
});

t.test('a terminal gets no workbook, and a pipe does', async (t) => {
  const box = stoppedBox(t, 1);
  const line = `${BIN} export session-1 --data ${box.data}`;
  for (const format of ['xlsx', 'parquet']) {
    const shown = await run('script', ['-qfec', `${line} --format ${format}`, '/dev/null']);
    t.match(shown, { status: 1, stdout: /^courtd: A terminal cannot show / }, format);
  }
  const file = path.join(temporaryFolder(t), 'piped.xlsx');
  t.match(await run('/bin/sh', ['-c', `${line} --format xlsx | cat >${file}`]), { status: 0 });
  t.equal(objectsOf(sheetsOf(unzip(fs.readFileSync(file))).get('Bounces') ?? '').length, 1);
});

t.test('the memory of Parquet does not grow with the events', async (t) => {
  const read = reader();
  const speeds = () =>
    Array.from({ length: 500 }, (_, i) => read({ type: 'BALL_SPEED' }, { kmh: i, note: `${i}` }));
  let grown = 0;
  function* chunks() {
    // Row groups are complete every 20,000 events: look at the same point of one.
    for (let at = 0; at < 20_000; at += 500) yield speeds();
    const before = usedMib();
    for (let at = 20_000; at < 420_000; at += 500) yield speeds();
    grown = usedMib() - before;
  }
  for await (const _piece of toParquet(chunks(), AS_OF));
  // The values of the rows take 200 MiB. What has been freed is not always noted at once.
  t.ok(grown < 48, `${grown.toFixed(1)} MiB`);
});

t.test('a full sheet takes a bounded part of memory, and one more row is refused', async (t) => {
  const read = reader();
  const bounces = (count: number) => Array.from({ length: count }, () => read({}, {}));
  let grown = 0;
  function* chunks() {
    yield bounces(1);
    const before = usedMib();
    for (let left = SHEET_ROWS - 2; left > 0; left -= 500) yield bounces(Math.min(500, left));
    grown = usedMib() - before;
  }
  const pieces = [...toWorkbook('long', chunks(), AS_OF)];
  // The rows are 250 MiB of XML. What has been freed is not always noted at once.
  t.ok(grown < 128, `${grown.toFixed(1)} MiB`);
  const xml = sheetsOf(unzip(Buffer.concat(pieces))).get('Bounces') ?? '';
  const [, lastRow] = /^<row r="(\d+)">/.exec(xml.slice(xml.lastIndexOf('<row ')))!;
  t.equal(lastRow, String(SHEET_ROWS));
  const sheet = new Sheet(1, 'Bounces', []);
  for (let row = 1; row < SHEET_ROWS; row++) sheet.row([]);
  t.throws(() => sheet.row([]), /more Bounces than a sheet/);
});
