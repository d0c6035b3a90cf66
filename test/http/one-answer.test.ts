import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { numRuns } from '../harness/numRuns.ts';
import { type Answer, RawClient, request } from '../harness/rawClient.ts';

runInProcess();

/** A 202 is always that of its own request, whatever comes behind it, in whatever pieces. */

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
const UPGRADE = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' };

/** @returns what came on this connection until it ended. */
async function answersOf(client: RawClient): Promise<Answer[]> {
  client.socket.end();
  await client.over;
  const answers: Answer[] = [];
  while (client.unread !== '') answers.push(await client.next());
  return answers;
}

/** @returns the ids that are stored of a session. */
async function stored(session: string): Promise<Set<string>> {
  const { status, stdout } = await daemon.command('export', session, '--format', 'ndjson');
  if (status !== 0) return new Set();
  return new Set(
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).event_id),
  );
}

t.test('a request that offers an upgrade is answered, and nothing behind it is served', async (t) => {
  const session_id = 'upgrade';
  const own = [event({ session_id }), event({ session_id }), event({ session_id })];
  const [first, second, third] = own.map((one, i) =>
    request(daemon, { headers: i === 0 ? UPGRADE : {}, body: JSON.stringify(one) }),
  );
  const client = await RawClient.connect(t, daemon);
  client.send(Buffer.concat([first!, second!]));
  const { status, headers } = await client.next();
  t.strictSame([status, headers.get('connection')], [202, 'close']);
  client.send(third!);
  t.strictSame(await answersOf(client), [], 'the second and the third have no answer');
  t.strictSame([...(await stored(session_id))], [own[0]!.event_id]);
});

t.test(
  'the answer in front is given, whatever offers of an upgrade come behind it in one piece',
  async (t) => {
    const session_id = 'offers';
    const [plain, offer] = [{}, UPGRADE];
    for (const kinds of [
      [plain, plain, offer],
      [plain, plain, offer, plain],
      [plain, plain, plain, offer],
      [plain, offer, offer],
    ]) {
      const own = kinds.map(() => event({ session_id }));
      const all = own.map((one, i) => request(daemon, { headers: kinds[i]!, body: JSON.stringify(one) }));
      const client = await RawClient.connect(t, daemon);
      client.send(Buffer.concat(all));
      t.equal((await client.next()).status, 202);
      t.strictSame(await answersOf(client), []);
      t.ok((await stored(session_id)).has(own[0]!.event_id));
    }
    t.equal((await stored(session_id)).size, 4, 'and nothing else is stored');
  },
);

t.test('what a body holds is never taken for a request, behind an upgrade either', async (t) => {
  const session_id = 'smuggled';
  const inner = request(daemon, { body: JSON.stringify(event({ session_id, event_id: 'inner' })) });
  const outer = request(daemon, { headers: { 'content-type': 'text/csv' }, body: inner });
  const first = request(daemon, {
    headers: UPGRADE,
    body: JSON.stringify(event({ session_id, event_id: 'first' })),
  });
  const client = await RawClient.connect(t, daemon);
  client.send(Buffer.concat([first, outer.subarray(0, outer.length - inner.length)]));
  t.equal((await client.next()).status, 202);
  client.send(inner);
  t.strictSame(await answersOf(client), []);
  t.strictSame([...(await stored(session_id))], ['first']);
});

t.test('an upgrade whose body can never be whole is answered when its client has ended', async (t) => {
  const body = JSON.stringify(event({ session_id: 'never' }));
  for (const bytes of [
    request(daemon, { headers: UPGRADE, body }).subarray(0, -1),
    request(daemon, { headers: { ...UPGRADE, 'transfer-encoding': 'chunked' }, body: 'no size\r\n' }),
  ]) {
    const client = await RawClient.connect(t, daemon);
    client.send(bytes);
    const [answer, ...more] = await answersOf(client);
    t.match([answer?.status, answer?.headers.get('connection')], [/^40[08]$/, 'close']);
    t.strictSame(more, []);
  }
  t.strictSame([...(await stored('never'))], []);
});

t.test('an upgrade whose body is broken or cut is not stored', async (t) => {
  const session_id = 'cut';
  const body = JSON.stringify(event({ session_id }));
  const chunked = { ...UPGRADE, 'transfer-encoding': 'chunked' };
  const cut = [
    request(daemon, { headers: UPGRADE, body }).subarray(0, -1),
    request(daemon, { headers: chunked, body: `${body.length.toString(16)}\r\n${body}` }),
    request(daemon, { headers: chunked, body: `${(body.length - 1).toString(16)}\r\n${body}\r\n0\r\n\r\n` }),
  ];
  for (const bytes of cut) {
    const client = await RawClient.connect(t, daemon);
    await client.sendAll(bytes);
    client.socket.resetAndDestroy();
    await client.over;
  }
  t.equal((await RawClient.ask(t, daemon, request(daemon, { body: '[]' }))).status, 202);
  t.strictSame([...(await stored(session_id))], []);
});

type Kind = 'good' | 'upgrade' | 'chunked' | 'expecting' | 'lost' | 'stranger' | 'huge head' | 'broken';
interface Step {
  readonly kind: Kind;
  readonly events: number;
}

const STATUSES: Readonly<Record<Kind, number>> = {
  good: 202,
  upgrade: 202,
  chunked: 202,
  expecting: 202,
  lost: 404,
  stranger: 401,
  'huge head': 431,
  broken: 400,
};

function bytesOf({ kind }: Step, text: string): Buffer {
  const chunks = `5\r\n${text.slice(0, 5)}\r\n${(text.length - 5).toString(16)};a=b\r\n${text.slice(5)}\r\n0\r\n\r\n`;
  const chunked = { 'transfer-encoding': 'chunked' };
  switch (kind) {
    case 'upgrade':
      return request(daemon, { headers: UPGRADE, body: text });
    case 'chunked':
      return request(daemon, { headers: chunked, body: chunks });
    case 'expecting':
      return request(daemon, { headers: { expect: '100-continue' }, body: text });
    case 'lost':
      return request(daemon, { line: 'POST /v1/eventx HTTP/1.1', body: text });
    case 'stranger':
      return request(daemon, { headers: { authorization: 'Bearer wrong' }, body: text });
    case 'huge head':
      return request(daemon, { headers: { 'x-long': 'x'.repeat(17_000) }, body: text });
    case 'broken':
      return request(daemon, { headers: chunked, body: `zz${chunks}` });
    default:
      return request(daemon, { body: text });
  }
}

const steps = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 6, arbitrary: fc.constant<Kind>('good') },
      {
        weight: 4,
        arbitrary: fc.constantFrom<Kind>('upgrade', 'chunked', 'expecting', 'lost', 'huge head', 'broken'),
      },
      { weight: 1, arbitrary: fc.constant<Kind>('stranger') },
    ),
    events: fc.integer({ min: 1, max: 9 }),
  }),
  { minLength: 1, maxLength: 8 },
);
const cuts = fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), waits: fc.boolean() }), {
  maxLength: 5,
});
const SESSION = 'pieces';
let addresses = 0;

t.test(
  'of requests behind one another, in any pieces, each 202 is that of its own events',
  async (t: Test) => {
    const acknowledged: string[] = [];
    const sent = new Map<string, number>();
    let requests = 0;
    const property = fc.asyncProperty(steps, cuts, async (steps, cuts) => {
      const batches = steps.map((step) => events(step.events, { session_id: SESSION }));
      const bytes = Buffer.concat(steps.map((step, i) => bytesOf(step, JSON.stringify(batches[i]))));
      for (const batch of batches) for (const { event_id } of batch) sent.set(event_id, requests);
      requests += steps.length;
      // Wrong tokens shut an address out for a while.
      addresses++;
      const client = await RawClient.connect(t, daemon, `127.2.${addresses >> 8}.${addresses & 255}`);
      let from = 0;
      for (const { at, waits } of [...cuts].sort((a, b) => a.at - b.at)) {
        const to = Math.floor(at * bytes.length);
        if (to > from) client.send(bytes.subarray(from, to));
        from = Math.max(from, to);
        if (waits) await new Promise((resolve) => setTimeout(resolve, 3));
        else await nextTurn();
      }
      client.send(bytes.subarray(from));
      const answers = (await answersOf(client)).filter(({ status }) => status !== 100);
      for (const [i, { status, body }] of answers.entries()) {
        const step = steps[i];
        if (step === undefined || STATUSES[step.kind] !== status)
          throw new Error(`Answer ${i} to ${step?.kind} is ${status} ${body}`);
        if (status !== 202) continue;
        if (body !== `{"accepted":${step.events},"duplicates":0}`) throw new Error(`Answer ${i}: ${body}`);
        acknowledged.push(...batches[i]!.map(({ event_id }) => event_id));
      }
    });
    const runs = numRuns(300);
    await fc.assert(property, runs);
    const found = await stored(SESSION);
    const missing = acknowledged.filter((id) => !found.has(id));
    t.strictSame(missing, [], `${acknowledged.length} of ${sent.size} were acknowledged, and all are stored`);
    t.ok(acknowledged.length > runs.numRuns, 'most of the first of each connection');
    const unknown = [...found].filter((id) => !sent.has(id));
    t.strictSame(unknown, [], 'and nothing else is');
  },
);
