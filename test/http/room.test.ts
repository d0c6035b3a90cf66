import t from 'tap';
import { Room } from '../../src/http/room.ts';
import { SMALL_BODY_BYTES, WAITING_BODIES_BYTES } from '../../src/protocol/limits.ts';
import { Daemon } from '../daemon.ts';
import { event } from '../event.ts';
import { checkProblem } from '../problem.ts';
import { type Answer, RawClient, request } from '../raw.ts';

const MIB = 1024 ** 2;
const BODY_BYTES = 7 * MIB;
/** How many of them find room; one more may always go on (room.ts). */
const FITTING = Math.floor(WAITING_BODIES_BYTES / BODY_BYTES);
const SENDERS = FITTING + 4;

/** A good request of this size: space is part of JSON. */
function padded(daemon: Daemon, bytes: number, session: string): Buffer {
  return request(daemon, { body: JSON.stringify(event({ session_id: session })).padEnd(bytes) });
}

t.test('large bodies that wait are bounded, and small ones pass', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const clients = await Promise.all(Array.from({ length: SENDERS }, () => RawClient.connect(t, daemon)));
  const answers: Answer[] = [];
  const refused: RawClient[] = [];
  const enoughRefused = new Promise<void>((resolve, reject) => {
    const next = (client: RawClient, answer: Answer) => {
      answers.push(answer);
      refused.push(client);
      if (answers.length === SENDERS - FITTING - 1) resolve();
    };
    for (const client of clients) client.next().then((answer) => next(client, answer), reject);
  });
  // All but the last byte: their bodies stay where they are.
  for (const client of clients) client.send(padded(daemon, BODY_BYTES, 'large').subarray(0, -1));
  await enoughRefused;
  for (const answer of answers) {
    checkProblem(t, answer, 503, 'overloaded', 'who finds no room is told after five seconds');
    t.equal(answer.headers.get('retry-after'), '8');
  }
  for (const bytes of [500, SMALL_BODY_BYTES]) {
    const small = await RawClient.ask(t, daemon, padded(daemon, bytes, 'small'));
    t.equal(small.status, 202, `${bytes} bytes pass`);
  }
  t.equal((await daemon.exported('small')).length, 2);
  t.equal((await daemon.command('export', 'large')).status, 1, 'and of the large ones nothing is stored');
  // The rest of a body is read after its answer, and what comes next on that connection is stored.
  const again = Buffer.concat([
    padded(daemon, BODY_BYTES, 'large').subarray(-1),
    padded(daemon, 500, 'again'),
  ]);
  refused.at(-1)!.send(again);
  t.equal((await refused.at(-1)!.next()).status, 202);
});

t.test('a large body that came while there was no room is read when there is some again', async (t) => {
  const daemon = await Daemon.start(t, ['--body-limit', '32MiB']);
  const [first, last] = [await RawClient.connect(t, daemon), await RawClient.connect(t, daemon)];
  // More than the kernel holds, so that most of it has been read; one body may take more than the room.
  const body = padded(daemon, WAITING_BODIES_BYTES + 10 * MIB, 'large');
  await first.sendAll(body.subarray(0, -1));
  last.send(padded(daemon, 2 * SMALL_BODY_BYTES, 'large'));
  t.equal((await RawClient.ask(t, daemon, padded(daemon, 500, 'small'))).status, 202);
  t.equal(last.unread, '', 'it waits');
  first.send(body.subarray(-1));
  for (const client of [first, last]) t.equal((await client.next()).status, 202);
});

t.test(
  'one body may become larger than the room: the first that needs it, and no other until it is gone',
  (t) => {
    const room = new Room();
    const [small, first, other] = [room.enter(0), room.enter(0), room.enter(0)];
    room.grow(small, 300);
    for (const place of [first, other]) room.grow(place, 2 * SMALL_BODY_BYTES);
    room.adjust(first, 2 * WAITING_BODIES_BYTES);
    t.throws(() => room.adjust(other, WAITING_BODIES_BYTES), { code: 'overloaded' });
    room.leave(first);
    room.adjust(other, 2 * WAITING_BODIES_BYTES);
    t.end();
  },
);

t.test('while there is no room, a large body waits from its first part on, a small one does not', (t) => {
  const room = new Room();
  const first = room.enter(2 * WAITING_BODIES_BYTES);
  t.ok(room.grow(first, 2 * WAITING_BODIES_BYTES));
  const [small, large, unknown] = [SMALL_BODY_BYTES, SMALL_BODY_BYTES + 1, 0].map((size) => room.enter(size));
  t.ok(room.grow(small!, SMALL_BODY_BYTES));
  t.notOk(room.grow(large!, 1));
  t.ok(room.grow(unknown!, SMALL_BODY_BYTES));
  t.notOk(room.grow(unknown!, 1), 'nor goes one on that has become large');
  t.end();
});

t.test(
  'who has announced a large body, and sends little of it or nothing, keeps nobody from going on',
  (t) => {
    const room = new Room();
    const [silent, slow] = [room.enter(WAITING_BODIES_BYTES), room.enter(WAITING_BODIES_BYTES)];
    t.ok(room.grow(slow, 1));
    const [one, two] = [room.enter(WAITING_BODIES_BYTES), room.enter(WAITING_BODIES_BYTES)];
    t.ok(room.grow(one, WAITING_BODIES_BYTES));
    t.notOk(room.grow(two, 1));
    let resumed = false;
    const resume = () => {
      resumed = true;
    };
    room.wait(two, resume, t.fail);
    t.ok(room.grow(one, 1));
    t.notOk(room.grow(slow, 1));
    room.leave(one);
    t.ok(resumed);
    for (const place of [silent, slow, two]) room.leave(place);
    t.end();
  },
);
