import t from 'tap';
import { READ_CHUNK_ROWS } from '../../src/base/limits.ts';
import { BIN, Daemon, start } from '../harness/daemon.ts';
import { event, events, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { csvObjects, readCsv } from '../harness/rfc4180.ts';

runInProcess();

/** Scripts read these by position: a column that is new stands behind them. */
const HEADER =
  'session_id,event_id,revision,current,eot,type,court_id,venue_id,confidence,source,schema_version,received_at,' +
  'x_ft,y_ft,is_in,kmh,player_id,shot_type,swing_type,payload,extra,erased';

const daemon = await Daemon.start(t);

async function store(...sent: unknown[]): Promise<void> {
  const response = await daemon.post(sent.length === 1 ? sent[0] : sent);
  if (response.status !== 202) throw new Error(await response.text());
}

/** How much, as of when, and where it is so that nothing matched. */
const SAID = /^\d+ events? written; as_of seq \d+, [-\d]+T[:.\d]+Z\.\n(No event matched[^\n]*\n)?$/;

/** What the command wrote; it must have worked, and said to people what it has to say. */
async function exported(session: string, ...options: string[]): Promise<string> {
  const { status, stdout, stderr } = await daemon.command('export', session, ...options);
  if (status !== 0 || !SAID.test(stderr)) throw new Error(`${status}: ${stderr}`);
  return stdout;
}

/** The event_ids in the order in which they were written; both formats must agree on them. */
async function ids(session: string, ...options: string[]): Promise<string[]> {
  const inCsv = csvObjects(await exported(session, ...options)).map((row) => row.event_id);
  const ndjson = await exported(session, '--format', 'ndjson', ...options);
  const inNdjson = ndjson.split('\n').slice(0, -1);
  if (inCsv.length !== inNdjson.length) throw new Error('the formats differ');
  return inNdjson.map((line, i) => {
    const { event_id } = JSON.parse(line);
    if (event_id !== inCsv[i]) throw new Error(`the formats differ at ${i}`);
    return event_id;
  });
}

t.test(
  'CSV has the columns of the contract in its order, one record an event, and CRLF at the end of each',
  async (t) => {
    const plain = event({ session_id: 'plain', payload: { x_ft: 12.5, y_ft: -0.5, is_in: false } });
    const before = Date.now();
    await store(plain);
    const text = await exported('plain');
    const { event_id } = plain;
    t.match(text.slice(HEADER.length), /^[,\r]/);
    t.ok(text.startsWith(HEADER));
    const [row = {}] = csvObjects(text);
    const { received_at = '', ...rest } = row;
    t.match(rest, {
      session_id: 'plain',
      event_id,
      revision: '0',
      current: 'true',
      eot: '2026-03-14T15:09:26.535Z',
      type: 'BALL_BOUNCE',
      court_id: 'court-1',
      venue_id: 'venue-1',
      confidence: '0.97',
      source: 'camera-1',
      schema_version: '1.0',
      x_ft: '12.5',
      y_ft: '-0.5',
      is_in: 'false',
      kmh: '',
      player_id: '',
      shot_type: '',
      swing_type: '',
      payload: '{"x_ft":12.5,"y_ft":-0.5,"is_in":false}',
      extra: '',
    });
    t.ok(Date.parse(received_at) >= before && Date.parse(received_at) <= Date.now(), received_at);
    t.equal(text.split('\r\n').length, 3);
    t.equal(new Date(received_at).toISOString(), received_at);
  },
);

t.test('any text survives the quoting: separators, quotes, line ends, every plane of Unicode', async (t) => {
  const texts = [
    'a,b',
    '"',
    '""',
    'say "in"',
    'a\nb',
    'a\rb',
    'a\r\nb',
    '\r\n',
    ' edge ',
    ',',
    "'=1+1",
    '\u2028',
  ];
  texts.push('Grüße', '日本', '🎾', '\u{10fffd}', '\u0000', '\ufeff', 'e\u0301', '');
  const sent = texts.map((text, i) => {
    const name = text.replace(/[\0\r\n]/g, '') || '-';
    const payload = { player_id: text, shot_type: `${text}1`, swing_type: `2${text}` };
    return event({
      session_id: 'a "b", c',
      court_id: name,
      source: name,
      event_id: `${i} ${name}`,
      payload,
      note: text,
    });
  });
  await store(...sent);
  const rows = csvObjects(await exported('a "b", c'));
  t.equal(rows.length, texts.length);
  rows.forEach((row, i) => {
    const { event_id, court_id, source, payload } = sent[i]!;
    const { player_id, shot_type, swing_type } = payload;
    t.match(row, { session_id: 'a "b", c', event_id, court_id, source, player_id, shot_type, swing_type });
    t.strictSame([JSON.parse(row.payload!), JSON.parse(row.extra!)], [payload, { note: texts[i] }]);
  });
});

t.test('numbers are written as they were sent, digit for digit, in both formats', async (t) => {
  const payload =
    '{"kmh":123.45678901234567890123,"x_ft":-0,"y_ft":18446744073709551615,"id":9007199254740993}';
  await store(eventText({ payload, frame: '9223372036854775807' }, { session_id: 'wide' }));
  const [row] = csvObjects(await exported('wide'));
  const columns = { kmh: '123.45678901234567890123', x_ft: '-0', y_ft: '18446744073709551615' };
  t.match(row, { ...columns, payload, extra: '{"frame":9223372036854775807}' });
  await store(eventText({ payload: '{"x_ft":12.50,"kmh":1e2}' }, { session_id: 'as sent' }));
  t.match(csvObjects(await exported('as sent')), [
    { x_ft: '12.50', kmh: '1e2', payload: '{"x_ft":12.50,"kmh":1e2}' },
  ]);
  const ndjson = await exported('wide', '--format', 'ndjson');
  t.ok(ndjson.includes(payload) && ndjson.includes('"frame":9223372036854775807'), ndjson);
});

t.test(
  'current marks the highest revision, whatever the order of arrival; --current leaves out the rest',
  async (t) => {
    const [a, b] = [
      event({ session_id: 'revised', event_id: 'a' }),
      event({ session_id: 'revised', event_id: 'b' }),
    ];
    for (const revision of [3, 0, 10, 2]) await store({ ...a, revision });
    await store({ ...b, revision: 2 ** 53 - 1 });
    await store({ ...b, revision: 2 ** 53 - 2 });
    await store({ ...b, revision: 2 ** 32 - 1 });
    const marks = async (...options: string[]) =>
      csvObjects(await exported('revised', ...options)).map((row) => [
        row.event_id,
        row.revision,
        row.current,
      ]);
    t.strictSame(await marks(), [
      ['a', '3', 'false'],
      ['a', '0', 'false'],
      ['a', '10', 'true'],
      ['a', '2', 'false'],
      ['b', '9007199254740991', 'true'],
      ['b', '9007199254740990', 'false'],
      ['b', '4294967295', 'false'],
    ]);
    t.strictSame(await marks('--current'), [
      ['a', '10', 'true'],
      ['b', '9007199254740991', 'true'],
    ]);
    t.strictSame(await marks('--current', '--court', 'elsewhere'), []);
  },
);

t.test('--type, --court, --from (inclusive) and --to (exclusive) select, to the nanosecond', async (t) => {
  const at = (event_id: string, eot: string, more = {}) =>
    event({ session_id: 'when', event_id, eot, ...more });
  await store(
    at('4', '2026-03-14T10:00:00.000000004-05:00'),
    at('3', '2026-03-14T15:00:00.000000003Z', { type: 'BALL_HIT' }),
    at('1', '2026-03-14T15:00:00.000000001Z', { court_id: 'court 2' }),
    at('2', '2026-03-14T15:00:00,000000002999Z', { type: 'BALL_HIT', court_id: 'court 2' }),
    at('old', '1678-01-01T00:00:00Z'),
    at('new', '2261-12-31T23:59:59.999999999Z'),
  );
  const instant = (ns: number) => `2026-03-14T16:00:00.00000000${ns}+01:00`;
  t.strictSame(await ids('when'), ['old', '1', '2', '3', '4', 'new']);
  t.strictSame(await ids('when', '--from', instant(2), '--to', instant(4)), ['2', '3']);
  t.strictSame(await ids('when', '--from', instant(2), '--to', instant(2)), []);
  t.strictSame(await ids('when', '--from', instant(3)), ['3', '4', 'new']);
  t.strictSame(await ids('when', '--to', instant(2)), ['old', '1']);
  t.strictSame(await ids('when', '--type', 'BALL_HIT'), ['2', '3']);
  t.strictSame(await ids('when', '--court', 'court 2'), ['1', '2']);
  t.strictSame(await ids('when', '--court', 'court 2', '--type', 'BALL_HIT', '--from', instant(2)), ['2']);
  t.match(await exported('when', '--court', 'nowhere'), /^session_id,.*\r\n$/);
  t.equal(await exported('when', '--court', 'nowhere', '--format', 'ndjson'), '');
});

t.test(
  'events of one eot come in the order of arrival, over more than one chunk of the reader',
  async (t) => {
    const session_id = 'one instant';
    const late = event({ session_id, eot: '2026-03-14T15:00:01Z' });
    const early = event({ session_id, eot: '2026-03-14T14:59:59Z' });
    const same = ['2026-03-14T15:00:00Z', '2026-03-14T16:00:00+01:00'].map((eot) => ({ session_id, eot }));
    const arrived = Array.from({ length: 2 * READ_CHUNK_ROWS + 500 }, (_, i) => event(same[i % 2]));
    await store(late);
    for (let at = 0; at < arrived.length; at += 500) await store(...arrived.slice(at, at + 500));
    await store(early);
    const order = [early, ...arrived, late].map(({ event_id }) => event_id);
    t.strictSame(await ids(session_id), order);
    t.strictSame(await ids(session_id, '--from', same[1]!.eot, '--to', late.eot), order.slice(1, -1));
  },
);

t.test('an export holds what was stored when it began, no more', async (t) => {
  const session_id = 'in play';
  const before = events(2 * READ_CHUNK_ROWS, { session_id });
  for (let at = 0; at < before.length; at += 500) await store(...before.slice(at, at + 500));
  const child = start(BIN, ['export', session_id, '--data', daemon.data]);
  const chunks: AsyncIterator<string> = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]();
  // Once its first event is here it has begun, and the pipe does not hold the rest: it waits until we read on.
  let written = '';
  while (!/\r\n./s.test(written)) written += (await chunks.next()).value;
  const last = before.at(-1);
  await store({ ...last, revision: 1 }, ...events(100, { session_id, eot: '2026-03-14T23:00:00Z' }));
  for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) written += chunk;
  const rows = csvObjects(written);
  t.strictSame(
    rows.map((row) => [row.event_id, row.revision, row.current]),
    before.map(({ event_id }) => [event_id, '0', 'true']),
  );
  t.equal((await ids(session_id)).length, before.length + 101);
});

t.test('the reader of this test refuses what is not CSV', async (t) => {
  t.strictSame(readCsv('a,"b ""c"", d"\r\n,\r\n'), [
    ['a', 'b "c", d'],
    ['', ''],
  ]);
  for (const bad of ['a\n', 'a\r', 'a"b\r\n', '"a"b\r\n', '"a\r\n', 'a']) t.throws(() => readCsv(bad), bad);
});

t.test('what arrives after an export is what tail shows behind its as_of', async (t) => {
  const sent = [event({ session_id: 'as-of' }), event({ session_id: 'another' })];
  await store(...sent);
  const { stderr } = await daemon.command('export', 'as-of');
  const seq = /as_of seq (\d+),/.exec(stderr)?.[1] ?? '';
  const late = event({ session_id: 'as-of', eot: '2001-01-01T00:00:00Z' });
  await store(late);
  const { stdout } = await daemon.command('tail', '--json', '--after', seq, '--session', 'as-of');
  t.strictSame(
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).event.event_id),
    [late.event_id],
  );
});
