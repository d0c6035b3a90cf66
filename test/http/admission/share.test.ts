import t from 'tap';
import { CONCURRENT_REQUESTS, RETRY_AFTER_S } from '../../../src/base/limits.ts';
import { Daemon } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { checkProblem } from '../../harness/problem.ts';
import { RawClient, request } from '../../harness/rawClient.ts';

const [GREEDY, MODEST] = ['127.0.0.3', '127.0.0.4'];
const ACCEPTED = '{"accepted":1,"duplicates":0}';

t.test('who has many requests waiting is refused, and who has none is served', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0', '--connections-per-address', '0']);
  const body = JSON.stringify(event());
  const headers = { expect: '100-continue', 'content-length': `${body.length}` };
  const begin = async (address: string) => {
    const client = await RawClient.connect(t, daemon, address);
    client.send(request(daemon, { headers }));
    return { client, answer: await client.next() };
  };
  const waiting = await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, () => begin(GREEDY)));
  t.ok(
    waiting.every(({ answer }) => answer.status === 100),
    'all of them wait for their bodies',
  );
  const { answer } = await begin(GREEDY);
  t.match(
    checkProblem(t, answer, 503, 'overloaded', 'one more').error,
    new RegExp(`^${CONCURRENT_REQUESTS} requests from 127\\.0\\.0\\.3 are already in progress`),
  );
  t.equal(answer.headers.get('retry-after'), `${RETRY_AFTER_S.overloaded}`);
  const modest = await begin(MODEST);
  t.equal(modest.answer.status, 100, 'another address is let in');
  modest.client.send(body);
  t.equal((await modest.client.next()).body, ACCEPTED, 'and served');
  const [first] = waiting;
  first?.client.send(body);
  t.match((await first?.client.next())?.status, 202, 'what waited is served as well');
  const again = await begin(GREEDY);
  t.equal(again.answer.status, 100, 'and there is a place again');
});
