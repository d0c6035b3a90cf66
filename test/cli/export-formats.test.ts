import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { REVISION_MAX } from '../../src/base/limits.ts';
import { DICTIONARY } from '../../src/session/export/columns.ts';
import { CELL_CHARS, Sheet, STYLES } from '../../src/session/export/sheet.ts';
import { zipArchive } from '../../src/session/export/zipArchive.ts';
import { type Cleanup, courtd, temporaryFolder } from '../harness/daemon.ts';
import { askDuckDb } from '../harness/duckdb.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { Committer, court, scratch } from '../harness/scratchStore.ts';
import { objectsOf, rowsOf, sheetsOf, timeOf, unzip } from '../harness/xlsx.ts';

runInProcess();

/** What looks like a number, a date, a formula or markup in a spreadsheet, and must stay the text that it is. */
const ODD = [
  '0042',
  '12e5',
  '1/2',
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  "'quoted",
  'TRUE',
  ' spaces ',
  '<b>&amp;"',
  '_x0041_',
  '🎾',
];
const SESSION = 'match-17';

const { folder: data, db } = scratch(t);
const sent = [
  ...ODD.map((event_id, i) =>
    event({ event_id, eot: i % 2 === 0 ? `2026-03-14T16:09:${10 + i}+01:00` : `20260314 1509${10 + i}z` }),
  ),
  event({ event_id: 'corrected', eot: '20260314t151000,123456789-0000', payload: { is_in: true } }),
  event({
    event_id: 'corrected',
    eot: '20260314t151000,123456789-0000',
    payload: { is_in: false },
    revision: 1,
  }),
  event({
    event_id: 'old',
    eot: '1850-01-01T12:00:00Z',
    type: 'BALL_SPEED',
    payload: { kmh: 101.5 },
    revision: REVISION_MAX,
  }),
  event({
    event_id: 'fast',
    type: 'BALL_SPEED',
    payload: { kmh: 2.145e2 },
    lens: 'wide',
    revision: 1_773_500_966_535,
  }),
  event({
    event_id: 'hit',
    type: 'BALL_HIT',
    payload: { player_id: '007', shot_type: 'a\u0000\u0009\u001b\ud800', swing_type: 'x'.repeat(40_000) },
  }),
  ...[1, 2].map((y_ft) =>
    event({ event_id: `at-${y_ft}`, type: 'PLAYER_POSITION', payload: { player_id: '007', x_ft: 1, y_ft } }),
  ),
  event({ event_id: 'who', type: 'PLAYER_IDENTITY', payload: { player_id: 'Ann' } }),
];
new Committer(db).append(...court(...sent.map((one) => ({ ...one, session_id: SESSION }))));
db.close();

/** @returns the file that an export wrote, which left nothing next to it. */
async function exported(t: Cleanup, format: 'xlsx' | 'parquet'): Promise<Buffer> {
  const folder = temporaryFolder(t);
  const output = path.join(folder, 'out');
  await courtd(['export', SESSION, '--data', data, '--format', format, '-o', output]);
  if (fs.readdirSync(folder).length !== 1) throw new Error('something was left');
  return fs.readFileSync(output);
}

function parquetMetadata(file: string) {
  return askDuckDb(
    `SELECT decode(key) AS name, decode(value) AS text FROM parquet_kv_metadata('${file}') ORDER BY name DESC`,
  );
}

t.test('a workbook has its sheets, each with a header that stays in view', async (t) => {
  const files = unzip(await exported(t, 'xlsx'));
  const sheets = sheetsOf(files);
  t.strictSame([...sheets.keys()], ['Summary', 'Bounces', 'Hits', 'Speeds', 'Players']);
  for (const [title, xml] of sheets) {
    t.match(xml, '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>', title);
    t.ok(rowsOf(xml)[0]?.every(({ style }) => style === STYLES.header));
    t.match(xml, /<col min="1" max="1" width="\d+"/, title);
    t.match(xml, '<pageSetup paperSize="9" orientation="landscape" fitToWidth="1" fitToHeight="0"/>', title);
  }
  for (const [name, xml] of files) t.notMatch(xml, /<f>|<definedName|externalLink/, `no formula in ${name}`);
});

t.test(
  'a row of Bounces is an event in its current revision; its id is text, its eot a time in UTC',
  async (t) => {
    const sheet = sheetsOf(unzip(await exported(t, 'xlsx'))).get('Bounces') ?? '';
    const rows = objectsOf(sheet);
    t.strictSame(
      rows.map(({ event_id }) => event_id),
      [...ODD, 'corrected'],
    );
    t.strictSame(
      rows.flatMap(({ revision, event_id }) => (revision === 0 ? [event_id] : [])),
      ODD,
      'what was corrected is not preliminary',
    );
    const [first] = rows;
    t.strictSame(first, {
      ...{ eot: first?.eot, court_id: 'court-1', source: 'camera-1', x_ft: 12.5, y_ft: -3.25, is_in: true },
      ...{ confidence: 0.97, revision: 0, event_id: '0042' },
    });
    t.strictSame(
      rows.map(({ eot }) => new Date(timeOf(Number(eot))).toISOString()),
      [...ODD.map((_, i) => `2026-03-14T15:09:${10 + i}.000Z`), '2026-03-14T15:10:00.123Z'],
    );
    t.strictSame([rows.at(-1)?.is_in, rows.at(-1)?.revision], [false, 1]);
    const styles = new Set(
      rowsOf(sheet)
        .slice(1)
        .map(([eot]) => eot?.style),
    );
    t.strictSame([...styles], [STYLES.time]);
  },
);

t.test('a bounce has the player of the last hit on its court, for four seconds', async (t) => {
  const { folder, db } = scratch(t);
  const at = (eot: string, type: string, more: object) =>
    event({ eot: `2026-03-14T15:00:${eot}Z`, type, event_id: eot, ...more });
  const sent = [
    at('00', 'BALL_HIT', { payload: { player_id: 'anna' } }),
    at('01', 'BALL_BOUNCE', { payload: {} }),
    at('02', 'BALL_BOUNCE', { payload: { player_id: 'ben' } }),
    at('03', 'BALL_BOUNCE', { payload: {}, court_id: 'court-2' }),
    at('05', 'BALL_BOUNCE', { payload: {} }),
  ];
  new Committer(db).append(...court(...sent));
  const file = path.join(folder, 'out.xlsx');
  const { stderr } = await courtd(['export', 'session-1', '--data', folder, '--format', 'xlsx', '-o', file]);
  t.match(stderr, '5 events written to');
  const rows = objectsOf(sheetsOf(unzip(fs.readFileSync(file))).get('Bounces') ?? '');
  t.strictSame(
    rows.map(({ player_id }) => player_id),
    ['anna', 'ben', undefined, undefined],
  );
});

t.test('a number that no spreadsheet holds is a text, and a verdict is TRUE or FALSE', (t) => {
  const sheet = new Sheet(1, 'Speeds', []);
  sheet.row([1.5, -9e307, 1.7e308, -1e308, 5e-324, false]);
  sheet.end(false);
  const written = unzip(Buffer.concat([...zipArchive([sheet.entry])])).get('xl/worksheets/sheet1.xml');
  t.match(written, '<c r="A2"><v>1.5</v></c><c r="B2"><v>-9e+307</v></c>');
  t.match(written, /<c r="C2" s="3" t="inlineStr"><is><t [^>]*>1\.7e\+308<.*<c r="D2" [^>]*t="inlineStr"/);
  t.match(written, `<c r="F2" s="${STYLES.boolean}" t="b"><v>0</v></c>`);
  t.end();
});

t.test('what a cell cannot hold is cut, escaped, or shown as text', async (t) => {
  const sheets = sheetsOf(unzip(await exported(t, 'xlsx')));
  const [hit] = objectsOf(sheets.get('Hits') ?? '');
  t.equal(hit?.shot_type, 'a\u0000\u0009\u001b\ufffd');
  t.equal(String(hit?.swing_type).length, CELL_CHARS);
  t.notMatch(sheets.get('Hits'), /\p{Cc}(?<![\n])/u);
  const [old, fast] = objectsOf(sheets.get('Speeds') ?? '');
  t.strictSame([old?.eot, old?.kmh, fast?.kmh], ['1850-01-01T12:00:00Z', 101.5, 214.5]);
  t.equal(old?.revision, String(REVISION_MAX), 'a spreadsheet holds 15 digits');
});

t.test('Summary counts current revisions, and Players counts what names a player', async (t) => {
  const sheets = sheetsOf(unzip(await exported(t, 'xlsx')));
  const summary = rowsOf(sheets.get('Summary') ?? '').map((row) => row.map(({ value }) => value));
  const value = (label: string) => summary.find(([name]) => name === label)?.[1];
  const labels = [
    'Session',
    'Events',
    'BALL_BOUNCE',
    'BALL_HIT',
    'BALL_SPEED',
    'PLAYER_POSITION',
    'PLAYER_IDENTITY',
  ];
  const bounces = ODD.length + 1;
  t.strictSame(labels.map(value), [SESSION, bounces + 6, bounces, 1, 2, 2, 1]);
  t.strictSame(['Bounces in', 'Bounces out', 'Bounces preliminary', 'Highest speed, km/h'].map(value), [
    ODD.length,
    1,
    ODD.length,
    214.5,
  ]);
  const players = objectsOf(sheets.get('Players') ?? '');
  t.strictSame(
    players.map(({ player_id, hits, positions, identities }) => [player_id, hits, positions, identities]),
    [
      ['007', 1, 2, 0],
      ['Ann', 0, 0, 1],
    ],
  );
});

t.test('Parquet has every revision, under the names of the CSV, typed', async (t) => {
  const file = path.join(temporaryFolder(t), 'out.parquet');
  fs.writeFileSync(file, await exported(t, 'parquet'));
  const [, ...columns] = await askDuckDb(`FROM parquet_schema('${file}')`);
  t.strictSame(
    columns.map(({ name }) => name),
    DICTIONARY.map(({ name }) => name),
  );
  const typed = (is: RegExp) => columns.filter((column) => is.test(`${column.type} ${column.logical_type}`));
  const names = (is: RegExp) => typed(is).map(({ name }) => name);
  t.strictSame(names(/^INT64 TimestampType\(isAdjustedToUTC=1, .*NANOS=N/), ['eot', 'received_at']);
  t.strictSame(names(/^DOUBLE/), ['confidence', 'x_ft', 'y_ft', 'kmh']);
  t.strictSame(await askDuckDb(`SELECT DISTINCT compression AS is FROM parquet_metadata('${file}')`), [
    { is: 'ZSTD' },
  ]);
  const rows = await askDuckDb(`SELECT *, epoch_ns(eot) AS ns FROM '${file}'`);
  t.equal(rows.length, sent.length);
  const corrected = rows.filter(({ event_id }) => event_id === 'corrected');
  // DuckDB has a time in UTC in microseconds; the rest is in eot_text.
  const ns = '1773501000123456000';
  t.match(corrected, [
    { revision: '0', current: false, is_in: true, ns, eot_text: '20260314t151000,123456789-0000' },
    { revision: '1', current: true, is_in: false, ns },
  ]);
  const of = (id: string) => rows.find(({ event_id }) => event_id === id);
  t.match(of('old'), { revision: String(REVISION_MAX), eot_text: '1850-01-01T12:00:00Z' });
  t.match(of('fast'), { kmh: 214.5, payload: '{"kmh":214.5}', extra: '{"lens":"wide"}', x_ft: null });
});

t.test('a workbook and Parquet explain their columns, and hold as_of', async (t) => {
  const sheets = sheetsOf(unzip(await exported(t, 'xlsx')));
  const rows = rowsOf(sheets.get('Summary') ?? '').map((row) => row.map(({ value }) => value));
  const valueIn = (label: string) => rows.find(([name]) => name === label)?.[1];
  t.equal(valueIn('as_of seq'), sent.length);
  t.ok(Math.abs(timeOf(Number(valueIn('as_of'))) - Date.now()) < 3_600_000);
  const explained = rows.slice(rows.findIndex(([first]) => first === 'Column') + 1);
  const columns = [...sheets.values()]
    .slice(1)
    .flatMap((sheet) => rowsOf(sheet)[0]!.map(({ value }) => value));
  t.strictSame(new Set(explained.map(([name]) => name)), new Set(columns));

  const file = path.join(temporaryFolder(t), 'out.parquet');
  fs.writeFileSync(file, await exported(t, 'parquet'));
  const [dictionary, asOf] = await parquetMetadata(file);
  t.strictSame(JSON.parse(String(dictionary?.text)), DICTIONARY);
  t.match(JSON.parse(String(asOf?.text)), { seq: sent.length });
});
