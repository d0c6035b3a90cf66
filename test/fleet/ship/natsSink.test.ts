import net, { type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import type { EventFeed } from '../../../src/fleet/feed/eventFeed.ts';
import { Connector } from '../../../src/fleet/nats/connect.ts';
import { NatsSink } from '../../../src/fleet/ship/sink/natsSink.ts';
import { SinkError } from '../../../src/fleet/ship/sink/sink.ts';
import { arrivalLine } from '../../harness/simulatedBox.ts';

/** What answers in the place of headquarters: something that speaks NATS as far as connecting, and then says anything. */

interface Answered {
  /** As in the server's INFO. */
  readonly info?: object;
  /** Of the answer to every request, with their line ends; none: no headers. */
  readonly headers?: string;
  readonly data?: string;
}

const CURSOR = { epoch: 'e', seq: 0, state: undefined };
const CHUNK = { epoch: 'e', lines: [`${arrivalLine(1)}\n`], last: 1, isLast: true, after: 0 };

async function sinkTo(t: Test, { info = {}, headers = '', data = '' }: Answered): Promise<NatsSink> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.write(
      `INFO ${JSON.stringify({ version: '2.15.1', headers: true, max_payload: 2 ** 20, ...info })}\r\n`,
    );
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
  const feed = {
    state: async () => ({
      epochs: [{ name: 'e', fromSeq: 0, shippedSeq: null }],
      lastSeq: 1,
      prunedSeq: 0,
      report: undefined,
    }),
  } as Partial<EventFeed> as EventFeed;
  const sink = new NatsSink({ connector: new Connector({ url }), box: 'venue-7' }, feed);
  t.teardown(async () => {
    await sink.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return sink;
}

/** @returns the error that it ends in, such as "waiting: Headquarters ...". */
async function sinkErrorOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (error) => error,
  );
  if (error instanceof SinkError) return `${error.kind}: ${error.message}`;
  throw new Error('no error', { cause: error });
}

t.test('what is no acknowledgement of the stream is waited for, and ends nothing', async (t) => {
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
  ]) {
    const sink = await sinkTo(t, { data });
    t.match(await sinkErrorOf(sink.send(CHUNK, CURSOR)), /^waiting: /, data);
  }
  const sink = await sinkTo(t, { data: '{"stream":"FLEET","seq":5}' });
  t.strictSame(await sink.send(CHUNK, CURSOR), { epoch: 'e', seq: 1, state: 5 });
});

t.test('what is no message of the box fences nobody', async (t) => {
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
  ]) {
    const sink = await sinkTo(t, { headers });
    t.match(
      await sinkErrorOf(sink.readCursor()),
      /^waiting: Headquarters does not say/,
      headers.slice(0, 60),
    );
  }
  const none = await sinkTo(t, { headers: 'NATS/1.0 404 Message Not Found\r\n\r\n' });
  t.strictSame(await none.readCursor(), { epoch: 'e', seq: 0, state: undefined });
  const other = await sinkTo(t, { headers: of(own, seq, 'Courtd-Last: 9007199254740993'), data: 'x' });
  t.match(
    await sinkErrorOf(other.readCursor()),
    /^fenced: /,
    'what somebody else has published under its name',
  );
});

t.test('a max_payload that no event fits leaves no event out', async (t) => {
  for (const max_payload of [-1, 0, 1024, 'all']) {
    const sink = await sinkTo(t, { info: { max_payload }, data: '{"stream":"FLEET","seq":5}' });
    t.match(await sinkErrorOf(sink.send(CHUNK, CURSOR)), /^waiting: .*max_payload: 9MB/, `${max_payload}`);
  }
});
