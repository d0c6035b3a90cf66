import t from 'tap';
import { LINGER_BYTES } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { newAddress, RawClient, request } from '../harness/rawClient.ts';

/** Clients that disconnect, stall, or continue after a rejection; all of them at one daemon, at the same time. */

const daemon = await Daemon.start(t, ['--rate-limit', '0', '--log-level', 'debug']);
const ACCEPTED = '{"accepted":1,"duplicates":0}';
const WRONG = 'Bearer a-wrong-token-that-must-not-be-logged';
const good = () => request(daemon, { body: JSON.stringify(event()) });
const SIZE = 40_000_000;
const CHUNK = Buffer.from(`186a0\r\n${'x'.repeat(100_000)}\r\n`);

/** The bytes of a request with a body of 40 MB. */
function large(authorization: string, isChunked: boolean): Buffer {
  const headers = isChunked
    ? { authorization, 'transfer-encoding': 'chunked' }
    : { authorization, 'content-length': `${SIZE}` };
  const head = request(daemon, { headers });
  if (!isChunked) return Buffer.concat([head, Buffer.alloc(SIZE, ' ')]);
  return Buffer.concat([
    head,
    ...Array.from({ length: SIZE / 100_000 }, () => CHUNK),
    Buffer.from('0\r\n\r\n'),
  ]);
}

t.test('a client that sends 40 MB before it reads gets the whole 413 or 401, and then the end', async (t) => {
  for (const isChunked of [false, true]) {
    for (const [status, code, authorization] of [
      [413, 'body_too_large', `Bearer ${daemon.token}`],
      [401, 'unauthorized', WRONG],
    ] as const) {
      const what = `${status}, ${isChunked ? 'chunked' : 'declared'}`;
      const client = await RawClient.connect(t, daemon, newAddress());
      client.socket.pause();
      await client.sendAll(large(authorization, isChunked));
      client.socket.resume();
      const further = status === 413 ? ['limit_bytes', ...(isChunked ? [] : ['size_bytes'])] : [];
      checkProblem(t, await client.next(), status, code, what, further);
      t.equal(await client.over, null, `${what}: the end, and no reset`);
    }
  }
});

t.test('a client that sends without end after its answer is cut off', async (t) => {
  const client = await RawClient.connect(t, daemon, newAddress());
  // It does not read its answer.
  client.socket.pause();
  const headers = { authorization: WRONG, 'transfer-encoding': 'chunked' };
  client.send(request(daemon, { headers }));
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1024 ** 2), Buffer.from('\r\n')]);
  let sent = 0;
  // Once what is drained and what the kernel holds is full, they fail.
  for (; sent < 20 * LINGER_BYTES; sent += chunk.length) {
    const isCut = await client.sendAll(chunk).then(
      () => false,
      () => true,
    );
    if (isCut) break;
  }
  t.ok(sent > LINGER_BYTES && sent < 2 * LINGER_BYTES, `${sent} bytes`);
});

t.test('a client that disconnects during a request leaves nothing behind', async (t) => {
  const whole = request(daemon, { body: JSON.stringify(event({ session_id: 'gone' })) });
  const chunked = request(daemon, { headers: { 'transfer-encoding': 'chunked' }, body: '5\r\n[{"a"\r\n' });
  const tunnel = request(daemon, { line: 'CONNECT a:1 HTTP/1.1' });
  const parts = [20, whole.length - 200, whole.length - 1].map((end) => whole.subarray(0, end));
  for (const part of [...parts, chunked, tunnel]) {
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const client = await RawClient.connect(t, daemon);
      await client.sendAll(part);
      client.socket[leave]();
      await client.over;
    }
  }
  const expecting = await RawClient.connect(t, daemon);
  expecting.send(request(daemon, { headers: { expect: '100-continue', 'content-length': '1000' } }));
  t.equal((await expecting.next()).status, 100);
  expecting.socket.resetAndDestroy();
  t.equal((await RawClient.ask(t, daemon, good())).body, ACCEPTED);
  t.equal((await daemon.command('export', 'gone')).status, 1);
});

t.test('the connection of a rejected client that leaves without its body is released at once', async (t) => {
  // It has the ten seconds of a drain: it does not read, or the end of the answer would end this side too.
  const staying = await RawClient.connect(t, daemon, newAddress());
  staying.socket.pause();
  staying.send(request(daemon, { headers: { authorization: WRONG, 'content-length': '1000' } }));
  const drained = staying.over.then(() => 'the client that stays was closed first');
  for (const headers of [{ 'content-length': '1000' }, { 'transfer-encoding': 'chunked' }]) {
    const client = await RawClient.connect(t, daemon, newAddress());
    client.send(request(daemon, { headers: { authorization: WRONG, ...headers } }));
    checkProblem(t, await client.next(), 401, 'unauthorized', JSON.stringify(headers));
    client.socket.end();
    t.equal(await Promise.race([client.over, drained]), null);
  }
  staying.socket.destroy();
});

t.test('a request that is too slow gets 408, and the connection ends', async (t) => {
  const stalls = {
    nothing: '',
    'half a line': 'POST /v1/ev',
    'half a head': 'POST /v1/events HTTP/1.1\r\nHost: a\r\nX-Slow: ',
    'a good request and half of another': Buffer.concat([good(), good().subarray(0, 30)]),
  };
  const waits = Object.entries(stalls).map(async ([what, bytes]) => {
    const client = await RawClient.connect(t, daemon, newAddress());
    client.send(bytes);
    // Sending on does not help.
    const drip = what === 'half a head' ? setInterval(() => client.send('x'), 500) : undefined;
    if (what.startsWith('a good')) t.equal((await client.next()).body, ACCEPTED, what);
    checkProblem(t, await client.next(), 408, 'request_timeout', what);
    clearInterval(drip);
    client.socket.end();
    t.equal(await client.over, null, `${what}: ends`);
  });
  const refused = async () => {
    const client = await RawClient.connect(t, daemon, newAddress());
    client.send(request(daemon, { headers: { authorization: WRONG, 'content-length': '1000' } }));
    checkProblem(t, await client.next(), 401, 'unauthorized', 'a refused sender that stalls');
    t.equal(await client.over, null, 'is closed');
  };
  await Promise.all([...waits, refused()]);
});

t.test('after rude clients the daemon still serves, and its log has no token and no fault', async (t) => {
  t.equal((await RawClient.ask(t, daemon, good())).body, ACCEPTED);
  t.equal(await daemon.stop(), 0);
  const faults = daemon.log.filter(({ level }) => level === 'error' || level === 'fatal');
  t.strictSame(faults, []);
  const text = JSON.stringify(daemon.log);
  t.ok(
    daemon.log.some(({ msg }) => msg === 'the client disconnected'),
    'the log is whole',
  );
  for (const token of [daemon.token, 'a-wrong-token']) t.notOk(text.includes(token.slice(0, 16)), 'no token');
});
