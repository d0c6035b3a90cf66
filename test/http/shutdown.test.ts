import { once } from 'node:events';
import net from 'node:net';
import t from 'tap';
import { SHUTDOWN_IDLE_MS } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { RawClient, request } from '../harness/rawClient.ts';

const ACCEPTED = '{"accepted":1,"duplicates":0}';

/** Sends SIGTERM. @returns its exit status and how long it took, in milliseconds. */
async function stop(daemon: Daemon) {
  const startedAt = performance.now();
  const status = await daemon.stop();
  return { status, ms: performance.now() - startedAt };
}

/** @returns when new connections are refused: when the last one was asked for that was not. */
async function isClosing(daemon: Daemon): Promise<number> {
  for (let openAt = performance.now(); ; ) {
    const askedAt = performance.now();
    const socket = net.connect({ host: '127.0.0.1', port: daemon.port });
    const code = await once(socket, 'connect').then(
      () => 'open',
      ({ code }) => code,
    );
    socket.destroy();
    if (code === 'ECONNREFUSED') return openAt;
    openAt = askedAt;
  }
}

/** @returns a connection that has been accepted and is idle, as those that were made before it. */
async function connectAndUse(t: Parameters<typeof RawClient.connect>[0], daemon: Daemon): Promise<RawClient> {
  const client = await RawClient.connect(t, daemon);
  client.send(request(daemon, { body: '[]' }));
  await client.next();
  return client;
}

t.test('under load, what was sent is answered, and what was answered is there after a restart', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const acknowledged: string[] = [];
  let answered = 0;
  let underWay: () => void;
  const load = new Promise<void>((resolve) => {
    underWay = resolve;
  });
  const senders = Array.from({ length: 24 }, async (_, i) => {
    const client = await RawClient.connect(t, daemon);
    for (;;) {
      const batch = events(1 + (i % 4) * 20);
      client.send(request(daemon, { body: JSON.stringify(batch) }));
      const { body, headers } = await client.next();
      t.equal(body, `{"accepted":${batch.length},"duplicates":0}`);
      acknowledged.push(...batch.map(({ event_id }) => event_id));
      if (++answered === 200) underWay();
      if (headers.get('connection') === 'close') return client.over;
    }
  });
  await load;
  const { status, ms } = await stop(daemon);
  t.equal(status, 0);
  t.ok(ms < 10_000, `${ms} ms`);
  t.strictSame(
    await Promise.all(senders),
    senders.map(() => null),
    'told with Connection: close, and never reset',
  );
  const again = await Daemon.run(t, daemon.data, daemon.token);
  const stored = (await again.exported('session-1')).map((line) => JSON.parse(line).event_id);
  t.strictSame(stored.sort(), acknowledged.sort());
});

t.test('a request that is half sent is answered when it is whole, with Connection: close', async (t) => {
  const daemon = await Daemon.start(t);
  const body = JSON.stringify(event());
  const [inHead, inBody] = [await connectAndUse(t, daemon), await connectAndUse(t, daemon)];
  const head = request(daemon, { body });
  await inHead.sendAll(head.subarray(0, 30));
  inBody.send(request(daemon, { headers: { 'content-length': `${body.length}`, expect: '100-continue' } }));
  t.equal((await inBody.next()).status, 100, 'its head has been read');
  const stopped = stop(daemon);
  await isClosing(daemon);
  inHead.send(head.subarray(30));
  inBody.send(body);
  for (const client of [inHead, inBody]) {
    const { status, headers } = await client.next();
    t.strictSame([status, headers.get('connection')], [202, 'close']);
    t.equal(await client.over, null);
  }
  const { status, ms } = await stopped;
  t.equal(status, 0);
  t.ok(ms < 4_000, `nobody is waited for any more: ${ms} ms`);
});

/** @returns whether the requests were sent after the daemon began to close, and before it closes idle connections. */
async function sendWhileClosing(daemon: Daemon, clients: readonly RawClient[]): Promise<boolean> {
  const endedAt = SHUTDOWN_IDLE_MS + (await isClosing(daemon));
  for (const client of clients) client.send(request(daemon, { body: JSON.stringify(event()) }));
  return performance.now() < endedAt;
}

t.test('an idle connection that sends at this moment is served, and then closed', async (t) => {
  for (let tries = 1; ; tries++) {
    const daemon = await Daemon.start(t);
    const clients = [await connectAndUse(t, daemon), await RawClient.connect(t, daemon)];
    const stopped = stop(daemon);
    // A busy machine may come too late: then nothing was shown.
    if (!(await sendWhileClosing(daemon, clients)) && tries < 10) continue;
    for (const client of clients) {
      const { body, headers } = await client.next();
      t.strictSame([body, headers.get('connection')], [ACCEPTED, 'close']);
      t.equal(await client.over, null);
    }
    t.equal((await stopped).status, 0);
    return;
  }
});

t.test('connections that wait to be accepted while the daemon is busy are served', async (t) => {
  const daemon = await Daemon.start(t);
  await connectAndUse(t, daemon);
  daemon.child.kill('SIGSTOP');
  const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.knock(t, daemon)));
  for (const client of clients) client.send(request(daemon, { body: JSON.stringify(event()) }));
  const stopped = stop(daemon);
  daemon.child.kill('SIGCONT');
  for (const client of clients) t.equal((await client.next()).body, ACCEPTED);
  t.equal((await stopped).status, 0);
});

t.test('of requests that came one behind the other the first is answered', async (t) => {
  const daemon = await Daemon.start(t);
  const client = await connectAndUse(t, daemon);
  daemon.child.kill('SIGSTOP');
  await client.sendAll(
    Buffer.concat(events(5).map((event) => request(daemon, { body: JSON.stringify(event) }))),
  );
  const stopped = stop(daemon);
  daemon.child.kill('SIGCONT');
  const { body, headers } = await client.next();
  t.strictSame([body, headers.get('connection')], [ACCEPTED, 'close']);
  t.equal(await client.over, null);
  t.equal(client.unread, '');
  t.equal((await stopped).status, 0);
});

t.test('idle connections are closed without an error, and the daemon ends soon', async (t) => {
  const daemon = await Daemon.start(t);
  const clients = [await RawClient.connect(t, daemon), await connectAndUse(t, daemon)];
  const { status, ms } = await stop(daemon);
  t.equal(status, 0);
  t.ok(ms < 4_000, `${ms} ms`);
  t.strictSame(await Promise.all(clients.map(({ over }) => over)), [null, null]);
});

t.test('a request that never becomes whole holds it up for ten seconds at the most', async (t) => {
  const daemon = await Daemon.start(t);
  const client = await connectAndUse(t, daemon);
  await client.sendAll(request(daemon, { headers: { 'content-length': '1000' } }));
  const { status, ms } = await stop(daemon);
  t.equal(status, 0);
  t.ok(ms > 1_000 && ms < 10_000, `${ms} ms`);
});

t.test('SIGINT ends it like SIGTERM', async (t) => {
  const daemon = await Daemon.start(t);
  await connectAndUse(t, daemon);
  t.equal(await daemon.stop('SIGINT'), 0);
  t.equal(daemon.log.at(-1)?.msg, 'stopped');
});
