import t from 'tap';
import { courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';

/** Two addresses of one /64, and one of another, in a network of its own. */
const [FIRST, SECOND, NEIGHBOUR] = ['fd00:0:0:1::1', 'fd00:0:0:1::2', 'fd00:0:0:2::1'] as const;
const IN_A_NETWORK = [
  'unshare',
  '-n',
  'sh',
  '-c',
  `ip link set lo up && for a in ${FIRST} ${SECOND} ${NEIGHBOUR}; do ip -6 addr add $a/128 dev lo nodad; done && exec "$@"`,
  'sh',
];
const withoutNetwork =
  (await run(IN_A_NETWORK[0]!, [...IN_A_NETWORK.slice(1), 'curl', '--version'])).status !== 0 &&
  'no network of its own can be made, or curl is not installed';

t.test(
  'who changes to another address of its /64 is held to the same rate, and a neighbour is not',
  { skip: withoutNetwork },
  async (t) => {
    const data = temporaryFolder(t);
    const { stdout } = await courtd(['token', 'rotate', '--data', data]);
    const args = ['--host', '::', '--rate-limit', '1'];
    const daemon = await Daemon.run(t, data, stdout.trim(), args, {}, IN_A_NETWORK);
    const headers = [`Authorization: Bearer ${daemon.token}`, 'Content-Type: application/json'];
    const request = [...headers.flatMap((header) => ['-H', header]), '-d', '[]'];
    /** Of as many requests from there, one after the other. */
    const statuses = async (from: string, count: number): Promise<string[]> => {
      const urls = Array<string>(count).fill(`http://[::1]:${daemon.port}/v1/events`);
      const curl = [
        'curl',
        '-s',
        '-g',
        '--interface',
        from,
        '-w',
        '%{stderr}%{http_code}\n',
        ...request,
        ...urls,
      ];
      const { stderr } = await run('nsenter', ['-t', `${daemon.child.pid}`, '-n', ...curl]);
      return stderr.trim().split('\n');
    };
    const startedAt = performance.now();
    t.match((await statuses(FIRST, 50)).at(-1), '429', 'its share is used up');
    const served = (await statuses(SECOND, 50)).filter((status) => status === '202').length;
    // One a second comes back; a share of its own would be two more, at once.
    const most = 1 + Math.floor((performance.now() - startedAt) / 1000);
    t.ok(served <= most, `${served} of at most ${most}`);
    t.match(await statuses(NEIGHBOUR, 1), ['202']);
    await daemon.stop();
    t.ok(
      daemon.log.some(({ client }) => client === SECOND),
      'the log has the whole address',
    );
  },
);
