import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { connectionTo } from '../../../src/vendor/camera/boxConnection.ts';
import { Sender } from '../../../src/vendor/camera/sender.ts';
import { events } from '../../harness/events.ts';
import { answer, type Fault, FaultyServer } from '../../harness/faultyServer.ts';

const PROBLEM = 'Content-Type: application/problem+json';

function senderTo(port: number): Sender {
  return new Sender(connectionTo(new URL(`http://127.0.0.1:${port}`), 'x'), { random: () => 0 });
}

t.test('what a 400 names is dropped, a 413 is split, and the rest is stored as it is', async (t) => {
  const named = JSON.stringify({ status: 400, retryable: false, invalid: [{ index: 1, issues: [] }] });
  const faults: Fault[] = [
    { bytes: answer(400, named, PROBLEM) },
    { bytes: answer(413, '{"retryable":false}', PROBLEM) },
    { isStored: true, how: 'reset' },
  ];
  const box = await FaultyServer.start(t, faults);
  const sender = senderTo(box.port);
  const seen = events(5);
  for (const one of seen) sender.offer(JSON.stringify(one));
  sender.end(60_000);
  await sender.run();
  t.strictSame([...box.stored.values()], [seen[0], ...seen.slice(2)]);
  t.match(sender, { undelivered: 0, counts: { requests: 5, accepted: 2, duplicates: 2, refused: 1 } });
  t.strictSame(box.bodies[2], box.bodies[3], 'the same bytes again');
  t.ok(box.connections <= 2, 'a connection, and another after the reset');
});

t.test('a sender without events sends signs of life', async (t) => {
  const box = await FaultyServer.start(t, [{ bytes: answer(503, '{}', 'Retry-After: 0') }]);
  const sender = new Sender(connectionTo(new URL(`http://127.0.0.1:${box.port}`), 'x'), {
    random: () => 0,
    aliveEveryMs: 0,
  });
  const running = sender.run();
  while (box.bodies.length < 2) await nextTurn();
  const [seen] = events(1);
  sender.offer(JSON.stringify(seen));
  // Stored is not yet answered, and a sender that is ended does not wait.
  while (sender.counts.accepted === 0) await nextTurn();
  sender.end(0);
  await running;
  t.strictSame(box.bodies.slice(0, 2), ['[]', '[]'], 'as any other request, until it is answered with 202');
  t.strictSame([...box.stored.values()], [seen]);
  t.match(sender.counts, { accepted: 1, refused: 0 });
});

t.test('the buffer is limited, and what was not delivered is counted at the end', async (t) => {
  const box = await FaultyServer.start(t, [{ how: 'hang' }]);
  const sender = senderTo(box.port);
  const text = JSON.stringify(events(1)[0]);
  for (let i = 0; i < 20_010; i++) sender.offer(text);
  sender.end(100);
  await sender.run();
  t.match(sender, { undelivered: 20_010, counts: { accepted: 0 } });
});
