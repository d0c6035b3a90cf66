import path from 'node:path';
import t from 'tap';
import { ParquetWriter } from '../../src/session/export/parquetWriter.ts';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { askDuckDb as ask } from '../harness/duckdb.ts';
import { event, events, eventText } from '../harness/events.ts';
import { usedMib } from '../harness/memory.ts';

const EVENTS = 21_000;

t.test('DuckDB finds the events of the NDJSON, in their order, and the same values', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const session_id = 'long';
  const post = async (body: unknown) => {
    const response = await daemon.post(body);
    if (response.status !== 202) throw new Error(await response.text());
  };
  // More than a row group.
  for (let sent = 0; sent < EVENTS; sent += 500) await post(events(500, { session_id }));
  const corrected = event({ session_id, payload: { x_ft: 1, y_ft: 2, is_in: true, note: 'é🎾"\n' } });
  await post([
    corrected,
    { ...corrected, revision: 2 ** 53 - 1, payload: { is_in: false }, lens: { wide: true } },
    event({
      session_id,
      type: 'BALL_SPEED',
      eot: '2026-03-14T17:09:26,123456789+0200',
      payload: { kmh: 214.5 },
    }),
    event({
      session_id,
      type: 'BALL_HIT',
      eot: '1700-02-28T00:00Z',
      payload: { player_id: '007', shot_type: '' },
    }),
  ]);
  await post(eventText({ payload: '{"kmh":12345678901234567890.5}' }, { session_id, type: 'BALL_SPEED' }));
  const file = path.join(temporaryFolder(t), 'out.parquet');
  const { status, stderr } = await daemon.command('export', session_id, '--format', 'parquet', '-o', file);
  t.equal(status, 0, stderr);

  const lines = (await daemon.exported(session_id)).map((line) => JSON.parse(line));
  const rows = await ask(`SELECT *, epoch_us(eot) AS eot_us FROM '${file}'`);
  t.equal(rows.length, lines.length);
  let different = 0;
  for (const [i, row] of rows.entries()) {
    const { eot, payload, revision, ...sent } = lines[i];
    const { lens, ...fields } = sent;
    const found = {
      ...Object.fromEntries(Object.keys(fields).map((name) => [name, row[name]])),
      ...{ eot: row.eot_text, revision: Number(row.revision), payload: JSON.parse(String(row.payload)) },
      ...(lens === undefined ? {} : JSON.parse(String(row.extra))),
    };
    const wanted = { ...sent, eot, revision, payload };
    for (const name of ['x_ft', 'y_ft', 'is_in', 'kmh', 'player_id', 'shot_type', 'swing_type']) {
      if ((row[name] ?? undefined) !== payload[name]) t.fail(`${name} of row ${i}: ${row[name]}`);
    }
    if (JSON.stringify(sorted(found)) !== JSON.stringify(sorted(wanted))) different++;
  }
  t.equal(different, 0);

  const [facts] = await ask(`
    SELECT count(*) FILTER (WHERE NOT current) AS replaced, count(DISTINCT event_id) AS events,
           typeof(any_value(eot)) AS eot, typeof(any_value(kmh)) AS kmh, typeof(any_value(is_in)) AS is_in,
           typeof(any_value(revision)) AS revision, epoch_us(max(eot)) AS last, epoch_us(min(eot)) AS first
      FROM '${file}'`);
  t.match(facts, { replaced: '1', events: String(lines.length - 1) });
  // DuckDB has times in UTC in microseconds.
  t.match(facts, { eot: 'TIMESTAMP WITH TIME ZONE', kmh: 'DOUBLE', is_in: 'BOOLEAN', revision: 'BIGINT' });
  const us = (text: string, rest: number) => String(Date.parse(text) * 1000 + rest);
  t.match(facts, { first: us('1700-02-28T00:00Z', 0), last: us('2026-03-14T15:09:26.535Z', 0) });
  const [precise] = await ask(`SELECT epoch_us(eot) AS us FROM '${file}' WHERE kmh = 214.5`);
  t.strictSame(precise, { us: us('2026-03-14T15:09:26.123Z', 456) });
  const [{ groups } = { groups: 0 }] = await ask(
    `SELECT count(DISTINCT row_group_id) AS groups FROM parquet_metadata('${file}')`,
  );
  t.equal(groups, '2');
});

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

t.test('memory does not grow with the events', async (t) => {
  let bytes = 0;
  const write = async (data: string | Uint8Array) => {
    bytes += data.length;
  };
  const writer = new ParquetWriter({ write, commit: () => {} });
  const row = (seq: number) => ({
    ...{ seq, sessionId: 'long', eventId: `event-${seq}`, revision: 0, eot: '2026-03-14T15:09:26Z' },
    ...{
      eotMs: 1_773_500_966_000,
      origin: 1,
      type: 'BALL_SPEED' as const,
      courtId: 'court-1',
      venueId: 'venue-1',
    },
    ...{
      confidence: 1,
      source: 'camera-1',
      schemaVersion: '1.0',
      receivedMs: seq,
      extra: null,
      current: true,
    },
    payload: `{"kmh":${seq % 300}.5,"note":"${seq}"}`,
  });
  const write500 = (from: number) => writer.write(Array.from({ length: 500 }, (_, i) => row(from + i)));
  // Row groups are complete every 20,000 events: look at the same point of one.
  for (let at = 0; at < 20_000; at += 500) await write500(at);
  const before = usedMib();
  for (let at = 20_000; at < 420_000; at += 500) await write500(at);
  const grown = usedMib() - before;
  await writer.end({ seq: 1, ms: 0 });
  // The values of the rows take 200 MiB. What has been freed is not always noted at once.
  t.ok(grown < 48, `${grown.toFixed(1)} MiB in ${(bytes / 1024 ** 2).toFixed(1)} MiB written`);
});
