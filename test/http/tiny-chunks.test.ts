import fs from 'node:fs';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { RawClient, request } from '../harness/rawClient.ts';

runInProcess();

const own = await Daemon.start(t);

/** @returns a body in chunks of one byte. */
function inChunks(text: string): string {
  return `${text.replace(/./g, '1\r\n$&\r\n')}0\r\n\r\n`;
}

t.test('a body in chunks of one byte takes no more memory than any other', async (t) => {
  const body = inChunks(JSON.stringify(event({ payload: { text: 'x'.repeat(500_000) } })));
  const bytes = request(own, { headers: { 'transfer-encoding': 'chunked' }, body });
  let answer = await RawClient.ask(t, own, bytes);
  // A slow machine does not read half a million chunks within 30 s: it is sent again, as the answer says.
  for (let again = 4; answer.status === 408 && again > 0; again--)
    answer = await RawClient.ask(t, own, bytes);
  t.equal(answer.body, '{"accepted":1,"duplicates":0}');
  const status = fs.readFileSync(`/proc/${own.child.pid}/status`, 'utf8');
  const peakMib = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  t.ok(peakMib < 200, `${peakMib} MiB`);
});

t.test('one that is refused sees its answer', async (t) => {
  const body = inChunks(JSON.stringify(event({ payload: { text: 'x'.repeat(100_000) } })));
  const headers = { 'transfer-encoding': 'chunked', authorization: 'Bearer wrong' };
  const client = await RawClient.connect(t, own);
  client.socket.pause();
  await client.sendAll(request(own, { headers, body }));
  client.socket.resume();
  t.equal((await client.next()).status, 401);
  t.equal(await client.over, null);
});
