import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { rest } from '../../src/http/hold.ts';

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
