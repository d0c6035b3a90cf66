import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Daemon } from '../daemon.ts';
import { RawClient, request } from '../raw.ts';

t.test('who goes on sending behind a refused body that is broken leaves nothing behind', async (t) => {
  const daemon = await Daemon.start(t);
  let words = '';
  daemon.child.stderr.on('data', (chunk) => {
    words += chunk;
  });
  const client = await RawClient.connect(t, daemon);
  const headers = { authorization: 'Bearer wrong', 'transfer-encoding': 'chunked' };
  await client.sendAll(request(daemon, { headers, body: '1\r\nx\r\n' }));
  t.equal((await client.next()).status, 401);
  await client.sendAll('this is no chunk\r\n');
  for (let part = 0; part < 30; part++) {
    await client.sendAll('x');
    // Parts that arrive together are one.
    await sleep(5);
  }
  client.socket.end();
  t.equal(await client.over, null);
  t.equal(await daemon.stop(), 0);
  t.equal(words, '');
});
