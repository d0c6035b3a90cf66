import zlib from 'node:zlib';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { newAddress, RawClient, request } from '../harness/rawClient.ts';
import { written } from '../harness/refused.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const daemon = await Daemon.start(t);
interface Listed {
  readonly id: string;
  readonly code: string;
  readonly source: string | null;
  readonly error: string;
}

async function listed(box: Daemon, count = 50): Promise<Listed[]> {
  await written(box);
  return JSON.parse((await box.command('rejections', '--json', '--last', `${count}`)).stdout);
}
const newest = (count = 1) => listed(daemon, count);
const bodyOf = async (id: string) => (await daemon.command('rejections', 'show', id)).stdout;

/** Sends bytes as they are, from an address that nobody had before. */
async function send(bytes: string | Buffer): Promise<{ status: number; body: string; from: string }> {
  const from = newAddress();
  const { status, body } = await RawClient.ask(t, daemon, bytes, from);
  return { status, body, from };
}

const post = (body: string | Buffer, headers: Record<string, string | undefined> = {}) =>
  request(daemon, { body, headers });
const cam = { source: 'cam-3', court_id: 'court-3' };
const JSON_OF = JSON.stringify;

/** A request of each kind that is refused, with what is to be known of it, and its body where that is read. */
const REFUSED: readonly (readonly [bytes: string | Buffer, expected: object, body: string | null])[] = [
  [post('[]', { authorization: undefined }), { status: 401, source: null, events: null }, null],
  [post('[{"token":1}]', { authorization: 'Bearer wrong' }), { status: 401 }, null],
  [request(daemon, { line: 'POST /v1/event?token=secret HTTP/1.1' }), { status: 404 }, null],
  [request(daemon, { line: 'GET /v1/events HTTP/1.1' }), { status: 405 }, null],
  [request(daemon, { line: 'CONNECT a:1 HTTP/1.1' }), { status: 400 }, null],
  [post('[]', { 'content-type': 'text/plain' }), { status: 415, code: 'unsupported_media_type' }, null],
  [post('[]', { 'content-encoding': 'br' }), { status: 415, code: 'unsupported_encoding' }, null],
  [post('', { 'content-length': '99999999' }), { status: 413 }, null],
  [post('', { expect: 'nonsense' }), { status: 417 }, null],
  [post('', { 'x-long': 'x'.repeat(20_000) }), { status: 431 }, null],
  ['nonsense\r\n\r\n', { status: 400, code: 'malformed_request' }, null],
  [post('{"a":', {}), { status: 400, code: 'invalid_json', source: null, events: null }, '{"a":'],
  [
    post(JSON_OF([event(), event({ ...cam, confidence: 7 })])),
    { status: 400, code: 'invalid_event', source: 'cam-3', court_id: 'court-3', events: 2 },
    'cam-3',
  ],
  [
    post(JSON_OF({ ...event(cam), eot: 'noon' })),
    { code: 'invalid_event', source: 'cam-3', events: 1 },
    'noon',
  ],
  [post(JSON_OF(events(501, cam))), { code: 'too_many_events', source: 'cam-3', events: 501 }, 'cam-3'],
  [post(`[${JSON_OF(event(cam))},{"a"`), { code: 'invalid_json' }, 'cam-3'],
  [
    post(zlib.gzipSync(JSON_OF([{ ...cam, note: 'unpacked' }])), { 'content-encoding': 'gzip' }),
    { code: 'invalid_event', ...cam, events: 1 },
    'unpacked',
  ],
  [post('no gzip', { 'content-encoding': 'gzip' }), { code: 'invalid_encoding' }, 'no gzip'],
  [
    request(daemon, { headers: { 'transfer-encoding': 'chunked' }, body: '4\r\n{"a"\r\nnonsense\r\n' }),
    { status: 400, code: 'malformed_request' },
    null,
  ],
];

t.test('every refused request is there: when, who, which camera, why, and what was read of it', async (t) => {
  for (const [bytes, expected, body] of REFUSED) {
    const { from, ...answer } = await send(bytes);
    const [last] = await newest();
    const { request_id, code, error, status } = JSON.parse(answer.body);
    t.match(last, { ...expected, id: request_id, client: from, code, error, status });
    t.equal(status, answer.status);
    const kept = await bodyOf(request_id);
    if (body === null) t.equal(kept, '', code);
    else t.match(kept, body, code);
  }
  const all = JSON.stringify(await newest(1_000));
  for (const secret of [daemon.token, 'Bearer wrong', 'secret']) t.notMatch(all, secret);
});

t.test('the list, the status, the metrics and the summary of the log count the same refusals', async (t) => {
  const box = await Daemon.start(t);
  for (const body of [event({ ...cam, confidence: 7 }), event({ confidence: 7 }), '{']) await box.post(body);
  for (let i = 0; i < 2; i++) await box.post([], { Authorization: 'Bearer wrong' });
  const expected = { invalid_event: 2, invalid_json: 1, unauthorized: 2 };
  t.strictSame(summed((await listed(box)).map(({ code }) => [code, 1])), expected, 'rejections');
  const { stdout } = await box.command('metrics');
  const series = stdout.matchAll(/^courtd_requests_total\{status="4..",code="(.*)"\} ([1-9]\d*)$/gm);
  t.strictSame(summed([...series].map(([, code, count]) => [code!, Number(count)])), expected, 'metrics');
  await box.stop();
  const summaries = box.log.filter(({ msg }) => msg === 'summary');
  t.strictSame(
    summed(summaries.flatMap(({ refused }) => Object.entries(refused as object))),
    expected,
    'log',
  );
});

/** @returns the counts of each code together, in the order of the alphabet. */
function summed(counts: readonly (readonly [code: string, count: number])[]): Record<string, number> {
  const all = [...Map.groupBy(counts, ([code]) => code)].sort();
  return Object.fromEntries(all.map(([code, of]) => [code, of.reduce((sum, [, count]) => sum + count, 0)]));
}

t.test('a token that a camera puts where an id belongs is in no log, no status and no metric', async (t) => {
  const lost = event({ ...cam, source: daemon.token, court_id: `court ${daemon.token}`, type: daemon.token });
  t.equal((await send(post(JSON_OF(lost)))).status, 400);
  const [last] = await newest();
  t.match(last, {
    source: '(token removed)',
    court_id: 'court (token removed)',
    error: /"\(token removed\)"/,
  });
  const { stdout } = await daemon.command('status', '--json');
  t.match(stdout, '(token removed)');
  t.notMatch(`${stdout}${(await daemon.command('metrics')).stdout}`, daemon.token);
  t.notMatch(JSON.stringify(daemon.log), daemon.token);
  // Whatever is shown as a token is no reason to take letters out of our own words.
  t.match(await send(post('{}', { authorization: 'Bearer e' })), { status: 401 });
  t.match((await newest())[0]?.error, /^The token is unknown, expired or revoked/);
});

t.test('the list and a body are the same beside the daemon, without it and after a restart', async (t) => {
  t.equal((await send(post(JSON_OF({ ...event(cam), eot: 'noon' })))).status, 400);
  for (let i = 0; i < 40; i++) await daemon.post('{');
  const found = await listed(daemon);
  t.equal(found.length, 50);
  const { id } = found.find(({ source }) => source === 'cam-3')!;
  const shown = await daemon.command('rejections', 'show', id);
  t.match(shown.stderr, /^ +source +cam-3\n/m);
  t.match(JSON.parse(shown.stdout), { source: 'cam-3', eot: 'noon' }, 'the body alone');
  t.equal(await daemon.stop(), 0);
  const stored = await listed(daemon, 5_000);
  t.equal(stored.length, REFUSED.length + 43);
  t.strictSame(stored.slice(0, 50), found);
  t.equal((await daemon.command('rejections', 'show', id)).stdout, shown.stdout);
  const again = await Daemon.run(t, daemon.data, daemon.token);
  t.strictSame(await listed(again, 5_000), stored);
  t.match(await again.command('rejections', 'drop', id), { status: 0 });
  t.equal((await listed(again, 5_000)).length, stored.length - 1);
});
