import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { fileSink } from '../../src/base/fileSink.ts';
import { REVISION_MAX } from '../../src/base/limits.ts';
import { SHEET_ROWS } from '../../src/session/export/xlsxSheet.ts';
import { XlsxWriter } from '../../src/session/export/xlsxWriter.ts';
import type { ReadEvent } from '../../src/store/read/sessionReader.ts';
import { BIN, courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { usedMib } from '../harness/memory.ts';
import { missingPrograms } from '../harness/needs.ts';
import { csvObjects, readCsv } from '../harness/rfc4180.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';
import { objectsOf, sheetsOf, unzip } from '../harness/xlsx.ts';

const skip = missingPrograms({ soffice: 'libreoffice-calc' }) ?? false;

/** All sheets of a workbook as CSV in UTF-8, each in a file of its own, as they are shown. */
const EVERY_SHEET = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1';

const ODD = [
  '0042',
  '12e5',
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '1/2',
  "'quoted",
  '_x0041_',
  'a,"b"',
  '<&>',
  '🎾',
];

t.test('LibreOffice shows what is stored: ids as they are, times in UTC, numbers', { skip }, async (t) => {
  const daemon = await Daemon.start(t);
  const at = (i: number) => `2026-03-14T16:09:${10 + i}.5+01:00`;
  const sent = [
    ...ODD.map((event_id, i) =>
      event({
        event_id,
        eot: at(i),
        court_id: event_id,
        source: event_id,
        revision: i === 1 ? REVISION_MAX : 0,
      }),
    ),
    event({
      event_id: ODD[0],
      court_id: ODD[0],
      source: ODD[0],
      eot: at(0),
      revision: 1_773_500_966_535,
      payload: { x_ft: 1e-7, y_ft: -0.5, is_in: false },
    }),
    ...ODD.map((id, i) =>
      event({
        type: 'BALL_HIT',
        eot: at(i),
        event_id: `hit ${id}`,
        payload: { player_id: id, shot_type: id },
      }),
    ),
    event({ type: 'BALL_SPEED', eot: at(1), event_id: '7', payload: { kmh: 214.5 } }),
    event({ type: 'PLAYER_POSITION', eot: at(2), payload: { player_id: '0042', x_ft: 1, y_ft: 2 } }),
  ];
  t.equal((await daemon.post(sent)).status, 202);
  const folder = temporaryFolder(t);
  const output = path.join(folder, 'out.xlsx');
  const { status, stderr } = await daemon.command('export', 'session-1', '--format', 'xlsx', '-o', output);
  const rows = 2 * ODD.length + 1;
  const told = `${sent.length - 1} events read; ${rows} rows of Bounces, Hits, Speeds written to ${output}; as_of seq `;
  t.match({ status, stderr }, { status: 0, stderr: told });
  const profile = `-env:UserInstallation=file://${folder}/profile`;
  const args = [profile, '--headless', '--convert-to', EVERY_SHEET, '--outdir', folder, output];
  const converted = await run('soffice', args, { env: { ...process.env, HOME: folder } });
  t.equal(converted.status, 0, converted.stderr);
  // It ends lines as Unix does.
  const shown = (title: string) =>
    fs.readFileSync(path.join(folder, `out-${title}.csv`), 'utf8').replaceAll('\n', '\r\n');

  const bounces = csvObjects(shown('Bounces'));
  t.strictSame(
    bounces.map(({ event_id, court_id, source, eot }) => [event_id, court_id, source, eot]),
    ODD.map((id, i) => [id, id, id, `2026-03-14 15:09:${10 + i}.500`]),
  );
  t.match(bounces[0], { revision: '1773500966535', is_in: 'FALSE', y_ft: '-0.5' });
  t.match(bounces[1], { revision: '9007199254740991', is_in: 'TRUE', x_ft: '12.5', confidence: '0.97' });
  t.strictSame(
    csvObjects(shown('Hits')).map(({ event_id, player_id, shot_type }) => [event_id, player_id, shot_type]),
    ODD.map((id) => [`hit ${id}`, id, id]),
  );
  t.match(csvObjects(shown('Speeds')), [{ event_id: '7', kmh: '214.5' }]);
  const players = csvObjects(shown('Players'));
  t.strictSame(new Set(players.map(({ player_id }) => player_id)), new Set(ODD));
  t.match(
    players.find(({ player_id }) => player_id === '0042'),
    { hits: '1', positions: '1' },
  );
  const summary = readCsv(shown('Summary'));
  t.match(summary[0], ['Session', 'session-1']);
  t.match(summary[1], ['Events', String(sent.length - 1)]);
});

t.test('a terminal gets no workbook, and a pipe does', async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(event());
  const line = `${BIN} export session-1 --data ${daemon.data}`;
  for (const format of ['xlsx', 'parquet']) {
    const shown = await run('script', ['-qfec', `${line} --format ${format}`, '/dev/null']);
    t.equal(shown.status, 1);
    t.match(shown.stdout, new RegExp(`^courtd: A terminal cannot show ${format}`));
  }
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'piped.xlsx');
  const piped = await run('/bin/sh', ['-c', `${line} --format xlsx | cat >${file}`]);
  t.equal(piped.status, 0, piped.stderr);
  t.equal(objectsOf(sheetsOf(unzip(fs.readFileSync(file))).get('Bounces') ?? '').length, 1);
  const full = await courtd([
    'export',
    'session-1',
    '--data',
    daemon.data,
    '--format',
    'xlsx',
    '-o',
    '/dev/full',
  ]);
  t.equal(full.status, 1);
  t.match(full.stderr, /^courtd: Cannot write to \/dev\/full: no space left on device/);
});

t.test('a disk without room for it is told, and left as it was', { skip: withoutMount }, async (t) => {
  const box = stoppedBox(t, 6_000, { session_id: 'long' });
  const disk = await SmallDisk.mount(t, 1);
  const output = path.join(disk.folder, 'out.xlsx');
  fs.writeFileSync(output, 'an older one');
  disk.fill();
  for (const format of ['xlsx', 'parquet']) {
    const args = ['export', 'long', '--data', box.data, '--format', format, '-o', output];
    const { status, stderr } = await courtd(args);
    t.equal(status, 1, format);
    t.match(
      stderr,
      /^courtd: Cannot write to [^\n]+: no space left on device\. Fix that, or choose another place/,
    );
    t.equal(fs.readFileSync(output, 'utf8'), 'an older one');
    t.strictSame(fs.readdirSync(disk.folder).sort(), ['filler', 'out.xlsx']);
  }
});

t.test(
  'a full sheet takes a bounded part of memory, and one more row is refused with what to do',
  async (t) => {
    const bounce = (seq: number): ReadEvent => ({
      ...{ seq, sessionId: 'long', eventId: `event-${seq}`, revision: 0, eot: '2026-03-14T15:09:26Z' },
      ...{ eotMs: 1_773_500_966_000, origin: 1, type: 'BALL_BOUNCE', courtId: 'court-1', venueId: 'venue-1' },
      ...{
        confidence: 1,
        source: 'camera-1',
        schemaVersion: '1.0',
        receivedMs: 0,
        payload: '{}',
        extra: null,
      },
      current: true,
    });
    const file = path.join(temporaryFolder(t), 'long.xlsx');
    const sink = fileSink(file);
    const writer = new XlsxWriter(sink, 'long');
    await writer.write([bounce(1)]);
    const before = usedMib();
    const fits = SHEET_ROWS - 1;
    for (let from = 2; from <= fits; from += 500) {
      const count = Math.min(500, fits + 1 - from);
      await writer.write(Array.from({ length: count }, (_, i) => bounce(from + i)));
    }
    const grown = usedMib() - before;
    // The rows are 250 MiB of XML. What has been freed is not always noted at once.
    t.ok(grown < 128, `${grown.toFixed(1)} MiB`);
    const refused =
      /^The session has more Bounces than a sheet of a workbook takes, .*--from and --to, or write CSV or Parquet/;
    await t.rejects(writer.write([bounce(fits + 1)]), refused);
    await writer.end({ seq: 1, ms: 0 });
    sink.commit();
    const sheets = sheetsOf(unzip(fs.readFileSync(file)));
    t.strictSame([...sheets.keys()], ['Summary', 'Bounces', 'Hits', 'Speeds', 'Players']);
    const xml = sheets.get('Bounces') ?? '';
    const lastRow = /^<row r="(\d+)">.*>(event-\d+)</.exec(xml.slice(xml.lastIndexOf('<row ')))?.slice(1);
    t.strictSame(lastRow, [String(SHEET_ROWS), `event-${fits}`]);
  },
);
