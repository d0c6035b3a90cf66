import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { type Answer, RawClient, request } from '../harness/rawClient.ts';

runInProcess();

/** A 202 is always that of its own request, whatever comes behind it. In whatever pieces: the fuzzer. */

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
const SMALL = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const READ_BYTES = 64 * 1024;
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

t.test('the content of a body is never read as a request, nor is anything behind an upgrade', async (t) => {
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

t.test('a client that half-closes behind its request gets its answer', async (t) => {
  const client = await RawClient.connect(t, daemon);
  client.socket.end(request(daemon, { body: JSON.stringify(event()) }));
  t.match(await answersOf(client), [{ status: 202 }]);
});

t.test('bytes behind a request are not read until that request is answered', async (t) => {
  const lock = new Database(path.join(daemon.data, 'courtd.db'));
  t.teardown(() => lock.close());
  lock.exec('BEGIN IMMEDIATE');
  const client = await RawClient.connect(t, daemon);
  const io = `/proc/${daemon.child.pid}/io`;
  const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(fs.readFileSync(io, 'utf8'))?.[1]);
  const before = bytesRead();
  const further = SMALL.repeat((16 * READ_BYTES) / SMALL.length);
  client.send(Buffer.concat([request(daemon, { body: JSON.stringify(event()) }), Buffer.from(further)]));
  t.equal((await client.next()).status, 503);
  const read = bytesRead() - before;
  t.ok(read <= 4 * READ_BYTES, `${read} bytes were read`);
});
