import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import t from 'tap';
import { holdPauses, rest } from '../../src/http/hold.ts';

t.test(
  'a connection that is refused again and again is heard again each time, and holds no more for it',
  async (t) => {
    const listeners: number[] = [];
    const server = http.createServer((req, res) => {
      rest(req.socket, res, 0.001);
      listeners.push(req.socket.listenerCount('close'));
      res.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => {
      agent.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    for (let i = 0; i < 30; i++) {
      const [response] = await once(http.get({ host: '127.0.0.1', port, agent }), 'response');
      response.resume();
      await once(response, 'end');
    }
    t.equal(listeners.length, 30);
    t.equal(listeners.at(-1), listeners[1]);
  },
);

t.test('a pause holds that comes in the same turn as a resume, and the next one too', async (t) => {
  const server = http.createServer((_req, res) => res.end());
  server.on('connection', holdPauses);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = net.connect(port, '127.0.0.1');
  const [socket]: net.Socket[] = await once(server, 'connection');
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  for (let i = 0; i < 2; i++) {
    client.write(request);
    await once(server, 'request');
    await once(client, 'data');
    socket!.pause();
    socket!.resume();
    socket!.pause();
    const heard = once(server, 'request');
    client.write(request);
    // Another connection is accepted and answered meanwhile.
    const [other] = await once(http.get({ host: '127.0.0.1', port, path: '/other' }), 'response');
    other.resume();
    await once(other, 'end');
    t.equal((await heard)[0].url, '/other', 'only the other one is heard');
    const next = once(server, 'request');
    socket!.resume();
    t.equal((await next)[0].url, '/', 'once it is resumed it is heard as well');
    await once(client, 'data');
  }
});
