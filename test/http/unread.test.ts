import t, { type Test } from 'tap';
import { Daemon } from '../daemon.ts';
import { event } from '../event.ts';
import { checkProblem } from '../problem.ts';
import { type Answer, RawClient, type RequestParts, request } from '../raw.ts';
import { scheme } from '../transport.ts';

/** Clients that send hundreds of requests before they have their answers: over TLS not all of them can be heard (broken.ts). */

interface Sent {
  readonly id: string;
  readonly bytes: Buffer;
  /** What it may be told; over TLS it may be told nothing, or to come again. */
  readonly statuses: readonly number[];
}

const SESSION = 'unread';
const REQUEST_BYTES = 1024;
const LONGER_BYTES = 700;

/** As large as all others, so that much the same stands at each place of a record of TLS. */
function sent(
  daemon: Daemon,
  statuses: readonly number[],
  parts: RequestParts = {},
  size = REQUEST_BYTES,
): Sent {
  const own = event({ session_id: SESSION });
  const bytes = (padding: string) =>
    request(daemon, {
      ...parts,
      body: JSON.stringify({ ...own, payload: { padding, id: own.event_id } }),
    });
  return { id: own.event_id, bytes: bytes('x'.repeat(size - bytes('').length)), statuses };
}

/** Holds the answers against what was sent, and the store against the answers. */
async function check(t: Test, daemon: Daemon, client: RawClient, all: readonly Sent[]): Promise<void> {
  await client.over;
  const answers: Answer[] = [];
  while (client.unread !== '') answers.push(await client.next());
  const refusal = answers.at(-1)?.status === 503 ? answers.pop() : undefined;
  if (refusal !== undefined) checkProblem(t, refusal, 503, 'overloaded', 'this one and those behind it');
  const isTls = scheme() === 'https';
  t.ok(answers.length === all.length || (isTls && answers.length > 100), `${answers.length} answers`);
  const wrong = answers.filter(({ status }, i) => !all[i]?.statuses.includes(status));
  t.strictSame(wrong, [], 'each answer is that of its own request');
  const acknowledged = all.filter((_, i) => answers[i]?.status === 202);
  const stored = new Map<string, string>();
  for (const line of await daemon.exported(SESSION)) {
    const { event_id, payload } = JSON.parse(line);
    stored.set(event_id, payload.id);
  }
  const isWhole = ({ id }: Sent) => stored.get(id) === id;
  t.ok(
    acknowledged.length > 0 && acknowledged.every(isWhole),
    'what was acknowledged is stored, with its own payload',
  );
  t.ok(
    all.every((one) => !stored.has(one.id) || isWhole(one)),
    'and nothing else is',
  );
}

/** @returns these and a last one that ends the connection; the first is longer, so that records of TLS end within the others. */
function row(daemon: Daemon, count: number, of: (i: number) => Sent): Sent[] {
  const last = sent(daemon, of(0).statuses, { more: ['Connection: close'] });
  const first = sent(
    daemon,
    last.statuses,
    { more: [`X-Longer: ${'x'.repeat(LONGER_BYTES)}`] },
    REQUEST_BYTES + LONGER_BYTES,
  );
  return [first, ...Array.from({ length: count }, (_, i) => of(i + 1)), last];
}

t.test('over its rate, hundreds of requests in one piece: each 202 is that of its own event', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '20']);
  const all = row(daemon, 300, () => sent(daemon, [202, 429]));
  const client = await RawClient.connect(t, daemon);
  client.send(Buffer.concat(all.map(({ bytes }) => bytes)));
  await check(t, daemon, client, all);
});

for (const [every, isLate] of [
  [16, false],
  [3, true],
] as const) {
  const when = isLate ? 'late' : 'as they come';
  t.test(
    `one good request of ${every}, answers read ${when}: each 202 is that of its own event`,
    async (t) => {
      const daemon = await Daemon.start(t, ['--rate-limit', '0']);
      const lost = { line: 'POST /v1/eventx HTTP/1.1' };
      const all = row(daemon, 1499, (i) =>
        i % every === 0 ? sent(daemon, [202]) : sent(daemon, [404], lost),
      );
      const client = await RawClient.connect(t, daemon);
      if (isLate) client.socket.pause();
      client.send(Buffer.concat(all.map(({ bytes }) => bytes)));
      // By now the daemon has come to a stop with this one.
      t.equal((await RawClient.ask(t, daemon, request(daemon, { body: '[]' }))).status, 202);
      client.socket.resume();
      await check(t, daemon, client, all);
    },
  );
}
