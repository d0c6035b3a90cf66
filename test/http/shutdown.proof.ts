import t from 'tap';
import { SHUTDOWN_IDLE_MS } from '../../src/http/server.ts';
import { Daemon } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { RawClient, request } from '../harness/rawClient.ts';

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

t.test('a request that never becomes whole does not keep it from ending', async (t) => {
  const daemon = await Daemon.start(t);
  const client = await RawClient.connect(t, daemon);
  await client.sendAll(request(daemon, { headers: { 'content-length': '1000' } }));
  t.equal(await daemon.stop(), 0);
});
