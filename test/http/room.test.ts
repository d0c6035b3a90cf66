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

t.test('large bodies that wait are bounded, and small ones pass', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  /** A good request of this size: space is part of JSON. */
  const padded = (bytes: number, session: string) =>
    request(daemon, { body: JSON.stringify(event({ session_id: session })).padEnd(bytes) });
  const clients = await Promise.all(Array.from({ length: SENDERS }, () => RawClient.connect(t, daemon)));
  const answers: Answer[] = [];
  const enoughRefused = new Promise<void>((resolve, reject) => {
    const next = (answer: Answer) => {
      answers.push(answer);
      if (answers.length === SENDERS - FITTING - 1) resolve();
    };
    for (const client of clients) client.next().then(next, reject);
  });
  // All but the last byte: their bodies stay where they are.
  for (const client of clients) client.send(padded(BODY_BYTES, 'large').subarray(0, -1));
  await enoughRefused;
  for (const answer of answers) {
    checkProblem(t, answer, 503, 'overloaded', 'who finds no room is told after five seconds');
    t.equal(answer.headers.get('retry-after'), '4');
  }
  for (const bytes of [500, SMALL_BODY_BYTES]) {
    const small = await RawClient.ask(t, daemon, padded(bytes, 'small'));
    t.equal(small.status, 202, `${bytes} bytes pass`);
  }
  t.equal((await daemon.exported('small')).length, 2);
  t.equal((await daemon.command('export', 'large')).status, 1, 'and of the large ones nothing is stored');
});

t.test('the oldest of the large bodies may become larger than the room, and only that one', (t) => {
  const room = new Room();
  const [small, oldest, other] = [room.enter(), room.enter(), room.enter()];
  room.grow(small, 300);
  for (const place of [oldest, other]) room.grow(place, 2 * SMALL_BODY_BYTES);
  room.adjust(oldest, 2 * WAITING_BODIES_BYTES);
  t.throws(() => room.adjust(other, WAITING_BODIES_BYTES), { code: 'overloaded' });
  room.leave(oldest);
  room.adjust(other, 2 * WAITING_BODIES_BYTES);
  t.end();
});
