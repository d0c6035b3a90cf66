import t from 'tap';
import { BadTable, show } from '../harness/badRequests.ts';
import { event, events, eventText } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { checkProblem } from '../harness/problem.ts';

runInProcess();

const table = await BadTable.open(t);

const badText = (fields: Record<string, string>) => eventText(fields, { session_id: 'bad' });
const good = JSON.stringify(event({ session_id: 'bad' }));

t.test('501 events are too many, whatever they are', async (t) => {
  await table.isRefused(
    t,
    JSON.stringify(events(501, { session_id: 'bad' })),
    'too_many_events',
    '501 good ones',
  );
  await table.isRefused(t, `[${'0,'.repeat(500)}0]`, 'too_many_events', '501 zeros');
});

// At any byte: jsonReader.test.ts.
t.test('JSON cut off is refused', async (t) => {
  const text = Buffer.from(badText({ source: '"café"' }));
  for (let end = 0; end < text.length; end += 20) {
    checkProblem(t, await table.post(text.subarray(0, end)), 400, 'invalid_json', `${end} bytes`);
    checkProblem(
      t,
      await table.post(Buffer.concat([Buffer.from('['), text.subarray(0, end)])),
      400,
      'invalid_json',
    );
  }
  await table.goesOn(t, 'cut off');
});

// One of each kind; every other way: jsonReader.test.ts, and with its sentence decodeBatch.test.ts.
t.test('what is not JSON, or not an object or an array, is refused', async (t) => {
  const texts = ['', 'null', good.replaceAll('"', "'"), `${good}\n${good}`, `[${good},]`, `/**/${good}`];
  for (const body of [...texts, badText({ n: '"\0"' }), Buffer.from(good, 'utf16le')])
    await table.isRefused(t, body, 'invalid_json', show(body.toString()));
});

t.test('bytes that are not UTF-8 are refused', async (t) => {
  const [head, tail] = badText({ n: '"|"' })
    .split('|')
    .map((text) => Buffer.from(text)) as [Buffer, Buffer];
  const wrong = ['ff', '80', 'c3', 'c080', 'e0809f', 'eda080', 'edbfbf', 'f4908080', 'f09f8e', 'fe', 'c328'];
  for (const bytes of wrong) {
    await table.isRefused(t, Buffer.concat([head, Buffer.from(bytes, 'hex'), tail]), 'invalid_json', bytes);
  }
});

t.test('deep and huge bodies are refused', async (t) => {
  // The event itself is the first level, its payload the second.
  const deep = badText({ payload: `{"a":${'['.repeat(31)}${']'.repeat(31)}}` });
  await table.isRefused(t, deep, 'too_deep', '33 levels');
  await table.isRefused(t, `[${good},${deep}]`, 'too_deep', '33 levels in a batch');
  await table.isRefused(t, '['.repeat(8 * 1024 * 1024), 'invalid_json', '8 MiB of [');
  await table.isRefused(t, '{"a":'.repeat(1_000_000), 'too_deep', 'a million objects');
  const huge = ' '.repeat(8 * 1024 * 1024 + 1);
  const further = ['limit_bytes', 'size_bytes'];
  const body = checkProblem(t, await table.post(huge), 413, 'body_too_large', 'huge', further);
  t.strictSame([body.limit_bytes, body.size_bytes], [8_388_608, 8_388_609]);
  t.match(body.error, /send fewer or smaller events/, 'it may be one event');
  await table.goesOn(t, 'huge');
});

t.test(
  'a fault in one event of an array is named by its index, and the other faults of the batch too',
  async (t) => {
    const wrong = badText({ confidence: '1.5' });
    const deep = badText({ payload: `{"a":${'['.repeat(31)}${']'.repeat(31)}}` });
    const indexes = async (body: string, code: string) => {
      const { invalid, invalid_total } = checkProblem(t, await table.post(body), 400, code);
      t.equal(invalid_total, invalid?.length);
      return invalid?.map(({ index, issues }) => [index, issues.length]);
    };
    const nan = badText({ confidence: 'NaN' });
    t.strictSame(await indexes(`[${good},${nan},${good}]`, 'invalid_json'), [[1, 1]]);
    t.strictSame(await indexes(`[${wrong},${good},${nan}]`, 'invalid_json'), [
      [0, 1],
      [2, 1],
    ]);
    t.strictSame(await indexes(`[${deep},${good},${wrong},${deep}]`, 'too_deep'), [
      [0, 1],
      [2, 1],
      [3, 1],
    ]);
    t.equal(
      await indexes(`[${good} ${good}]`, 'invalid_json'),
      undefined,
      'between two events: it is neither',
    );
  },
);

t.test('of all this nothing is stored', (t) => table.holdsNothingElse(t));
