import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { askDaemon } from '../../src/control/controlClient.ts';
import { answerJson, ControlServer } from '../../src/control/controlServer.ts';
import { temporaryFolder } from '../harness/daemon.ts';

/** Requests on `control.sock` by other programs than courtd's commands. */

async function serve(t: Test) {
  const directory = temporaryFolder(t);
  const asked: string[] = [];
  const server = new ControlServer(
    new DataDirectory(directory),
    [
      {
        method: 'GET',
        path: '/v1/it',
        answer: (_req, res, query) => {
          asked.push(query.toString());
          answerJson(res, { padding: 'x'.repeat(100_000) });
        },
      },
    ],
    pino({ level: 'silent' }),
  );
  await server.listen();
  t.teardown(() => server.close());
  /** @returns a connection over which a text has been sent. */
  const say = (text: string) => {
    const socket = net.connect(path.join(directory, 'control.sock'));
    socket.on('error', () => {});
    t.teardown(() => void socket.destroy());
    socket.resume();
    socket.write(text);
    return socket;
  };
  return { directory, asked, say };
}

t.test('a path that is no URL is not found', async (t) => {
  const { directory, asked, say } = await serve(t);
  for (const target of ['//', '//[', 'http://[', '/v1/other/../it', '/v1/it/', '*', '/%', '?', '']) {
    const [answer] = await once(say(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`), 'data');
    t.match(String(answer), /^HTTP\/1\.1 40[04] /, target);
  }
  t.ok(await askDaemon(new DataDirectory(directory), '/v1/it?id=%ff&id=a?b'));
  t.equal(asked.length, 1);
});
