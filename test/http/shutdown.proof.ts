import t from 'tap';
import { SHUTDOWN_IDLE_MS } from '../../src/http/server.ts';
import { type Cleanup, Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { RawClient, request } from '../harness/rawClient.ts';

/** @returns a connection that has been accepted and is idle, as those that were made before it. */
async function connectAndUse(t: Cleanup, daemon: Daemon): Promise<RawClient> {
  const client = await RawClient.connect(t, daemon);
  client.send(request(daemon, { body: '[]' }));
  await client.next();
  return client;
}

t.test('a stop under load answers every request, and a restart has every acknowledged event', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const acknowledged: string[] = [];
  let answered = 0;
  let stopsAt = Number.POSITIVE_INFINITY;
  let underWay: () => void;
  const load = new Promise<void>((resolve) => {
    underWay = resolve;
  });
  const senders = Array.from({ length: 24 }, async (_, i) => {
    const client = await RawClient.connect(t, daemon);
    for (;;) {
      const batch = events(1 + (i % 4) * 20);
      client.send(request(daemon, { body: JSON.stringify(batch) }));
      const answer = await client.next().catch((error) => {
        // On a busy machine it was idle until idle connections were closed: what it sent then was read by nobody.
        if (performance.now() - stopsAt < SHUTDOWN_IDLE_MS) throw error;
      });
      if (answer === undefined) return client.over;
      const { body, headers } = answer;
      t.equal(body, `{"accepted":${batch.length},"duplicates":0}`);
      acknowledged.push(...batch.map(({ event_id }) => event_id));
      if (++answered === 200) underWay();
      if (headers.get('connection') === 'close') return client.over;
    }
  });
  await load;
  stopsAt = performance.now();
  t.equal(await daemon.stop(), 0);
  t.strictSame(
    await Promise.all(senders),
    senders.map(() => null),
    'closed with Connection: close, and never reset',
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
  const stopped = daemon.stop();
  await daemon.logged(/^stopping/);
  inHead.send(head.subarray(30));
  inBody.send(body);
  for (const client of [inHead, inBody]) {
    const { status, headers } = await client.next();
    t.strictSame([status, headers.get('connection')], [202, 'close']);
    t.equal(await client.over, null);
  }
  t.equal(await stopped, 0);
});

t.test('idle connections are closed without an error, and the daemon ends', async (t) => {
  const daemon = await Daemon.start(t);
  const clients = [await RawClient.connect(t, daemon), await connectAndUse(t, daemon)];
  t.equal(await daemon.stop(), 0);
  t.strictSame(await Promise.all(clients.map(({ over }) => over)), [null, null]);
});

t.test('a request that never becomes whole does not keep it from ending', async (t) => {
  const daemon = await Daemon.start(t);
  const client = await connectAndUse(t, daemon);
  await client.sendAll(request(daemon, { headers: { 'content-length': '1000' } }));
  t.equal(await daemon.stop(), 0);
});
