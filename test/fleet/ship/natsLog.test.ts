import net, { type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Connector } from '../../../src/fleet/nats/connect.ts';
import { NatsFault } from '../../../src/fleet/nats/faults.ts';
import { NatsLog } from '../../../src/fleet/ship/natsLog.ts';
import { arrivalLine } from '../../harness/simulatedBox.ts';

/** What answers in the place of headquarters: something that speaks NATS as far as connecting, and then says anything. */

interface Answered {
  /** As in the server's INFO. */
  readonly info?: object;
  /** Of the answer to every request, with their line ends; none: no headers. */
  readonly headers?: string;
  readonly data?: string;
}

const CHUNK = { lines: [arrivalLine(1)], last: 1, after: 0 };

async function logAt(t: Test, { info = {}, headers = '', data = '' }: Answered): Promise<NatsLog> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    const usual = { version: '2.15.1', headers: true, max_payload: 2 ** 24 };
    socket.write(`INFO ${JSON.stringify({ ...usual, ...info })}\r\n`);
    let said = '';
    let sid = '';
    socket.on('data', (bytes) => {
      said += bytes.toString('latin1');
      sid = /SUB _INBOX\S* (\d+)\r\n/.exec(said)?.[1] ?? sid;
      if (/PING\r\n/.test(said)) socket.write('PONG\r\n');
      const inbox = /H?PUB \S+ (_INBOX\S+) [\d ]+\r\n/.exec(said)?.[1];
      const size = `${headers.length} ${headers.length + data.length}`;
      if (inbox !== undefined) {
        const head = headers === '' ? `MSG ${inbox} ${sid} ${data.length}` : `HMSG ${inbox} ${sid} ${size}`;
        socket.write(`${head}\r\n${headers}${data}\r\n`);
      }
      said = '';
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `nats://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const log = new NatsLog(new Connector({ url }), 'venue-7', () => {});
  t.teardown(() => {
    log.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return log;
}

/** @returns the kind of the fault that it ends in. */
function faultOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof NatsFault ? error.kind : error),
  );
}

t.test('after any answer but an acknowledgement of the stream the message is sent again', async (t) => {
  for (const data of [
    '',
    'OK',
    'null',
    '[]',
    '{}',
    '{"stream":"FLEET","seq":"5"}',
    '{"stream":"OTHER","seq":5}',
    '{"error":null}',
    '{"error":"no"}',
  ])
    t.equal(await faultOf((await logAt(t, { data })).publish('e', CHUNK, 0)), 'busy', data);
  const log = await logAt(t, { data: '{"stream":"FLEET","seq":5}' });
  t.equal(await log.publish('e', CHUNK, 0), 5);
});

t.test('a message of another subject is not the last message of the box', async (t) => {
  const of = (...headers: string[]) => `NATS/1.0\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`;
  const [own, seq] = ['Nats-Subject: court.v1.venue-7.e', 'Nats-Sequence: 5'];
  for (const headers of [
    '',
    of(),
    'garbage',
    of(seq),
    of(own),
    of(own, 'Nats-Sequence: -1'),
    of('Nats-Subject: court.v1.venue-8.e', seq),
    of(`X: ${'x'.repeat(500_000)}`, ': ', 'broken'),
    'NATS/1.0 408\r\n\r\n',
    'NATS/1.0 500 oops\r\n\r\n',
  ])
    t.equal(await faultOf((await logAt(t, { headers })).last('e')), 'busy', headers.slice(0, 60));
  const none = await logAt(t, { headers: 'NATS/1.0 404 Message Not Found\r\n\r\n' });
  t.equal(await none.last('e'), undefined);
  const other = await logAt(t, { headers: of(own, seq, 'Courtd-Last: 9007199254740993'), data: 'x' });
  t.strictSame(await other.last('e'), { place: 5, chunk: undefined }, 'what somebody else has published');
});

t.test('a max_payload that no event fits is refused', async (t) => {
  for (const max_payload of [-1, 0, 128]) {
    const log = await logAt(t, { info: { max_payload }, data: '{"stream":"FLEET","seq":5}' });
    t.equal(await faultOf(log.publish('e', CHUNK, 0)), 'refused', `${max_payload}`);
  }
});
