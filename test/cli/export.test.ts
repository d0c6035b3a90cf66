import t from 'tap';
import { READ_CHUNK_ROWS } from '../../src/base/limits.ts';
import { fileNameOf } from '../../src/session/export/exportMany.ts';
import { BIN, Daemon, start } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { csvObjects } from '../harness/rfc4180.ts';

runInProcess();

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

t.test('a session_id comes back from its file name, whatever the other sessions are called', (t) => {
  const ids = ['match-17', 'Match-17', 'a/b', 'a%2Fb', '..', '.x', '-o', 'é', 'e\u0301', '日本', '🎾', 'x~y'];
  const names = ids.map(fileNameOf);
  t.equal(names[0], 'match-17');
  t.strictSame(names.map(decodeURIComponent), ids);
  for (const long of ['x'.repeat(256), '🎾'.repeat(256), `${'x'.repeat(255)}y`]) names.push(fileNameOf(long));
  t.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length, 'on every file system');
  for (const name of names) {
    t.match(name, /^(?:[a-z0-9_]|%[0-9A-F]{2})(?:[a-z0-9_.-]|%[0-9A-F]{2})*(?:~[0-9a-f]{16})?$/);
    t.ok(name.length <= 100);
  }
  t.end();
});
