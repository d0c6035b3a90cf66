import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { askDuckDb } from '../harness/duckdb.ts';
import { event, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { csvObjects } from '../harness/rfc4180.ts';
import { objectsOf, rowsOf, sheetsOf, unzip } from '../harness/xlsx.ts';

runInProcess();

/** Payload fields of another type than theirs, sent by a camera, in each form in which somebody reads them. */

const FIELDS = ['x_ft', 'y_ft', 'is_in', 'kmh', 'player_id', 'shot_type', 'swing_type'];
const VALUES = ['null', '7.50', '"91"', 'true', '[1]', '{"a":1}'];
/** What a column has of each of VALUES, by the kind of its field. */
const OF_NUMBER = [undefined, 7.5, undefined, undefined, undefined, undefined];
const OF_BOOLEAN = [undefined, undefined, undefined, true, undefined, undefined];
const OF_TEXT = [undefined, '7.50', '91', 'true', undefined, undefined];

const daemon = await Daemon.start(t);
const folder = temporaryFolder(t);
const payloads = VALUES.map((value) => `{${FIELDS.map((name) => `"${name}":${value}`)}}`);
for (const type of ['BALL_HIT', 'BALL_SPEED', 'PLAYER_POSITION']) {
  const texts = payloads.map((payload) => eventText({ payload }, { type, session_id: type }));
  await daemon.post(`[${texts}]`);
}
await daemon.post(
  [null, true, false, undefined].map((is_in) => event({ session_id: 'bounces', payload: { is_in } })),
);

/** An empty cell is null in some formats. */
const cell = (value: unknown) => value ?? undefined;

async function exported(session: string, format: string): Promise<Buffer> {
  const file = path.join(folder, `${session}.${format}`);
  const { status, stderr } = await daemon.command('export', session, '--format', format, '-o', file);
  if (status !== 0) throw new Error(stderr);
  return fs.readFileSync(file);
}

t.test(
  'CSV: the column has what is of its type, digit for digit, and the payload is as it came',
  async (t) => {
    const rows = csvObjects((await exported('BALL_HIT', 'csv')).toString());
    const text = (value: unknown) => (value === undefined ? '' : value === 7.5 ? '7.50' : String(value));
    t.strictSame(
      rows.map(({ x_ft, kmh, is_in, player_id, swing_type, payload }) => [
        ...[x_ft, kmh, is_in, player_id, swing_type, payload],
      ]),
      payloads.map((payload, i) => [
        ...[OF_NUMBER[i], OF_NUMBER[i], OF_BOOLEAN[i], OF_TEXT[i], OF_TEXT[i]].map(text),
        payload,
      ]),
    );
  },
);

t.test('Parquet: the same, typed', async (t) => {
  await exported('BALL_HIT', 'parquet');
  const rows = await askDuckDb(`SELECT * FROM '${path.join(folder, 'BALL_HIT.parquet')}'`);
  t.strictSame(
    rows.map(({ y_ft, is_in, shot_type, payload }) => [...[y_ft, is_in, shot_type].map(cell), payload]),
    payloads.map((payload, i) => [OF_NUMBER[i], OF_BOOLEAN[i], OF_TEXT[i], payload]),
  );
});

t.test('XLSX: the same, and neither a verdict of null nor a speed of text is counted', async (t) => {
  const hits = sheetsOf(unzip(await exported('BALL_HIT', 'xlsx')));
  t.strictSame(
    objectsOf(hits.get('Hits')!).map(({ player_id, swing_type }) => [cell(player_id), cell(swing_type)]),
    OF_TEXT.map((text) => [text, text]),
  );
  const names = objectsOf(hits.get('Players')!).map(({ player_id }) => player_id);
  t.strictSame(names, ['7.50', '91', 'true']);
  const speeds = sheetsOf(unzip(await exported('BALL_SPEED', 'xlsx')));
  t.strictSame(
    objectsOf(speeds.get('Speeds')!).map(({ kmh }) => cell(kmh)),
    OF_NUMBER,
  );
  const summaryOf = (sheets: Map<string, string>, label: string) =>
    rowsOf(sheets.get('Summary')!).find(([name]) => name?.value === label)?.[1]?.value;
  t.equal(summaryOf(speeds, 'Highest speed, km/h'), 7.5);
  const bounces = sheetsOf(unzip(await exported('bounces', 'xlsx')));
  t.strictSame([summaryOf(bounces, 'Bounces in'), summaryOf(bounces, 'Bounces out')], [1, 1]);
});
