import { gzipSync } from 'node:zlib';
import t from 'tap';
import { UNAUTHORIZED_PER_S } from '../../../src/base/limits.ts';
import { startTestBox } from '../../../src/vendor/conformance/testBox.ts';
import { Daemon } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { type Answer, newAddress, RawClient, type RequestParts, request } from '../../harness/rawClient.ts';

/** A camera cannot tell the box that tests it from a real one, but for the faults. */

const box = await startTestBox('127.0.0.1', 0, () => {});
t.teardown(() => box.close());
const daemon = await Daemon.start(t);
/** As far as a client goes. */
const tested = box as unknown as Daemon;

const body = JSON.stringify([]);
const ODD: Record<string, readonly (RequestParts | string)[]> = {
  'no token': [{ headers: { authorization: undefined }, body }],
  'another method': [{ line: 'GET /v1/events HTTP/1.1' }],
  HEAD: [{ line: 'HEAD /v1/events HTTP/1.1' }],
  CONNECT: [{ line: 'CONNECT /v1/events HTTP/1.1' }],
  'another path': [{ line: 'POST /v2/events HTTP/1.1', body }],
  'another type': [{ headers: { 'content-type': 'text/plain' }, body }],
  'no Host': [{ headers: { host: undefined }, body }],
  'too large, as its head says': [{ headers: { 'content-length': '99999999' } }],
  'too large, in chunks': [
    { headers: { 'transfer-encoding': 'chunked' }, body: '9000000\r\n' },
    'x'.repeat(9e6),
  ],
  'no JSON': [{ body: '{' }],
  'broken gzip': [{ headers: { 'content-encoding': 'gzip' }, body }],
  'an expectation': [{ headers: { expect: '100-continue' }, body }],
  'another expectation': [{ headers: { expect: 'more' }, body }],
  'HTTP/1.0': [{ line: 'POST /v1/events HTTP/1.0', body }],
  'no HTTP': ['what?\r\n\r\n'],
  'a broken chunk': [{ headers: { 'transfer-encoding': 'chunked' }, body: 'x\r\n' }],
  'one behind the other': [{ body }, { body: '{' }],
  'a broken one behind a good one': [{ body }, 'what?\r\n\r\n'],
  'half of one': ['POST /v1/events HTTP/1.1\r\nHost: '],
};

/** @returns all that is answered on a connection until it ends, but for what no two answers share. */
async function answersTo(to: Daemon, parts: readonly (RequestParts | string)[]): Promise<string> {
  const client = await RawClient.connect(t, to, newAddress());
  const bytes = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : request(to, part)));
  client.send(Buffer.concat(bytes));
  client.socket.end();
  await client.over;
  return client.unread.replace(/^Date: .*\r\n/gm, '').replace(/"request_id":"[^"]+"/g, '');
}

t.test('whatever is no event gets the answer of a real box, byte for byte', async (t) => {
  for (const [what, parts] of Object.entries(ODD)) {
    const [real, own] = await Promise.all([answersTo(daemon, parts), answersTo(tested, parts)]);
    t.match(real, /^HTTP.1.1 \d{3} /, what);
    t.equal(own, real, what);
  }
});

t.test('of two requests in one piece, only the first is served, and both are in the recording', async (t) => {
  const before = box.recorder.recording.exchanges.length;
  const sent = [{ body: JSON.stringify(event()) }, { body: JSON.stringify(event()) }];
  const answers = await answersTo(tested, sent);
  t.match(answers, /^HTTP.1.1 202 .*\nConnection: close\r\n.*\{"accepted":1,"duplicates":0\}$/s);
  const recorded = box.recorder.recording.exchanges.slice(before);
  t.match(recorded, [
    { status: 202, events: { length: 1 }, isPipelined: false },
    { status: undefined, events: { length: 1 }, isPipelined: true },
  ]);
});

t.test('what was refused on purpose is new when it comes again, compressed too', async (t) => {
  const own = await startTestBox('127.0.0.1', 0, () => {});
  t.teardown(() => own.close());
  const post = async (batch: unknown[]) => {
    const isOdd = batch.length % 2 === 1;
    const json = JSON.stringify(batch);
    const headers = isOdd ? { 'content-encoding': 'gzip' } : {};
    const sent = request(own as unknown as Daemon, { headers, body: isOdd ? gzipSync(json) : json });
    const { status, body } = await RawClient.ask(t, own as unknown as Daemon, sent);
    return [status, status === 202 ? JSON.parse(body) : JSON.parse(body).code];
  };
  const stored = (accepted: number, duplicates = 0) => [202, { accepted, duplicates }];
  t.strictSame(await post(events(2)), stored(2));
  t.strictSame(await post(events(3)), stored(3));
  const refused = events(3);
  for (const _ of [1, 2, 3]) t.strictSame(await post(refused), [503, 'storage_busy']);
  t.strictSame(await post([...refused, event()]), stored(4));
  t.strictSame(await post(refused), stored(0, 3));
  t.match(
    own.recorder.recording.exchanges.map(({ fault, status }) => fault ?? status),
    [202, 202, 'busy', 'busy', 'busy', 202, 202],
  );
});

t.test('the limits of an address count for each camera', async (t) => {
  const [stranger, camera] = [newAddress(), newAddress()];
  const wrong = request(tested, { headers: { authorization: 'Bearer wrong' }, body });
  const ask = (from: string, bytes: Buffer): Promise<Answer> => RawClient.ask(t, tested, bytes, from);
  const tries = Array.from({ length: 2 * UNAUTHORIZED_PER_S }, () => ask(stranger, wrong));
  await Promise.allSettled(tries);
  t.equal((await ask(camera, request(tested, { body }))).status, 202);
});
