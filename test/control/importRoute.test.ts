import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import t from 'tap';
import { askDaemon } from '../../src/control/controlClient.ts';
import { IMPORT_BYTES, IMPORT_PATH, type ImportAnswer } from '../../src/control/importRoute.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';

/** `POST /v1/import` of control.sock: batches of files, beside cameras. */

const daemon = await Daemon.start(t, ['--venue', 'venue-1']);
const lines = (...sent: unknown[]) => Buffer.from(sent.map((one) => JSON.stringify(one)).join('\n'));
const put = (body: Buffer) => askDaemon<ImportAnswer>(daemon.data, IMPORT_PATH, 'POST', body);

/** Says the head of a request, and a part of what it announces. */
function begin(bytes: number, part: string): net.Socket {
  const socket = net.connect(path.join(daemon.data, 'control.sock'));
  socket.on('error', () => {});
  t.teardown(() => void socket.destroy());
  socket.write(`POST ${IMPORT_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n${part}`);
  return socket;
}

t.test(
  'a batch is stored whole or not at all, by the rules of the daemon, and each event once',
  async (t) => {
    const sent = events(3);
    t.strictSame(await put(lines(...sent)), { counts: { accepted: 3, duplicates: 0, conflicts: 0 } });
    const again = await put(lines(...sent, { ...sent[0], confidence: 0.5 }));
    t.strictSame(again, { counts: { accepted: 0, duplicates: 4, conflicts: 1 } });
    const wrong = await put(lines(event(), event(), event({ venue_id: 'other' }), 'x'));
    t.match(wrong, {
      fault: { index: 2, members: { details: [{ path: 'venue_id', message: /must be "venue-1"/ }] } },
    });
    t.match(await put(Buffer.from('{"a":')), { fault: { index: 0, message: /not JSON/ } });
    t.match(await put(lines(...events(501))), { fault: { index: 500, message: /More than 500/ } });
    const arrays = Array.from({ length: 3 }, () => events(250));
    t.match(await put(lines(...arrays)), { fault: { index: 2, message: /More than 500 events/ } });
    t.equal((await daemon.exported('session-1')).length, 3);
  },
);

t.test('whoever sends half a body, of many, keeps nobody waiting', async (t) => {
  // None of these ends before the test does: it would hang if one of them had the turn.
  for (let i = 0; i < 10; i++) begin(1_000, '{"event_id":');
  const cut = begin(1_000, 'x'.repeat(500));
  cut.end();
  t.match(await put(lines(event())), { counts: { accepted: 1 } });
  t.equal((await daemon.post(event())).status, 202);
});

t.test('what is too large, or too much at once, is refused, and there is room again later', async (t) => {
  const [answered] = await once(begin(IMPORT_BYTES + 1, ''), 'data');
  t.match(String(answered), /^HTTP\/1\.1 413 /);
  // What the half bodies above still hold is little.
  const held = [1, 2, 3].map(() => begin(IMPORT_BYTES - 20_000, ''));
  const large = () => put(lines(event({ payload: { note: 'x'.repeat(100_000) } })));
  // Until the three have been seen.
  let answer = await large();
  while (answer !== undefined && 'counts' in answer) answer = await large();
  t.match(answer, { refused: { code: 'overloaded' } });
  for (const socket of held) socket.destroy();
  while (answer !== undefined && 'refused' in answer) answer = await large();
  t.match(answer, { counts: { accepted: 1 } });
});
