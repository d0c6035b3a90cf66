import { jetstreamManager } from '@nats-io/jetstream';
import t from 'tap';
import { Connector } from '../../../src/fleet/nats/connect.ts';
import { courtd } from '../../harness/daemon.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { jsonLines } from '../../harness/lines.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { SimulatedBox } from '../../harness/simulatedBox.ts';

runInProcess();

const skip = await missingNats();

t.test('one server: init, tail and status', { skip }, async (t) => {
  const servers = await NatsServers.start(t);
  const nc = await servers.connect(t);
  const { url } = servers;
  const jsm = await jetstreamManager(nc);

  await t.test('init creates stream and bucket once, and warns of sync_interval', async (t) => {
    t.match(await courtd(['fleet', 'status', url]), { status: 1, stderr: /no stream .*fleet init/ });
    const made = await courtd(['fleet', 'init', url]);
    t.match(made, { status: 0, stdout: /^FLEET: created, .*1\nKV_court-status: created, .*1\n$/ });
    t.match(made.stderr, /sync_interval: always/);
    t.match(await courtd(['fleet', 'init', url]), { status: 0, stdout: /^FLEET: existed/ });
    t.match((await jsm.streams.info('FLEET')).config, {
      subjects: ['court.v1.*.*'],
      storage: 'file',
      discard: 'new',
      max_age: 0,
      max_msg_size: 9 * 1024 * 1024,
      deny_delete: false,
      deny_purge: true,
      allow_direct: true,
      num_replicas: 1,
    });
    t.match((await jsm.streams.info('KV_court-status')).config, {
      subjects: ['$KV.court-status.>'],
      max_msgs_per_subject: 1,
    });
  });

  const boxOf = (name: string) => {
    const box = new SimulatedBox(new Connector({ url }), name);
    t.teardown(() => box.close());
    return box;
  };
  const [a, b] = [boxOf('venue-a'), boxOf('venue-b')];
  const lines: { box: string; epoch: string; line: string }[] = [];
  for (const [box, count] of [
    [a, 500],
    [b, 3],
    [a, 20],
    [b, 1],
  ] as const)
    lines.push(...(await box.ship(count)).map((line) => ({ box: box.box, epoch: box.epoch, line })));
  // What was pruned leaves a hole in the seqs, and none in the chain.
  lines.push(...(await a.ship(2, 700)).map((line) => ({ box: 'venue-a', epoch: 'e1', line })));

  const shown = (which: typeof lines) =>
    which.map(({ box, epoch, line }) => ({ box, epoch, ...JSON.parse(line) }));
  const read = (stdout: string) => jsonLines(stdout);
  const tail = async (...args: string[]) => {
    const { status, stdout, stderr } = await courtd(['fleet', 'tail', url, ...args]);
    t.strictSame([status, stderr], [0, '']);
    return read(stdout);
  };

  await t.test('tail prints every event of every box, in the order of its log', async (t) => {
    t.strictSame(await tail(), shown(lines));
    t.strictSame(await tail('--box', 'venue-b'), shown(lines.filter(({ box }) => box === 'venue-b')));
    const after = await tail('--box', 'venue-a', '--after', '510');
    t.strictSame(
      after.map(({ seq }) => seq),
      [511, 512, 513, 514, 515, 516, 517, 518, 519, 520, 700, 701],
    );
    t.strictSame(await tail('--box', 'venue-c'), []);
    a.begin('e2', 510);
    await a.ship(5);
    t.equal((await tail('--box', 'venue-a')).at(-1).epoch, 'e2', 'an epoch that a restore began');
  });

  await t.test('status has one row per box, from its last status', async (t) => {
    const current = { state: 'current', epoch: 'e2', newest_seq: 515, shipped_seq: 515, behind_events: 0 };
    await a.tell(JSON.stringify({ ship: current }));
    const behind = { state: 'behind', newest_seq: 90, shipped_seq: 4, behind_events: 86, behind_s: 7200 };
    await b.tell(JSON.stringify({ ship: behind }));
    await boxOf('venue-c').tell('no JSON');
    // A status is published without an acknowledgement.
    let rows: { box: string }[] = [];
    while (rows.length < 3) {
      const { status, stdout } = await courtd(['fleet', 'status', url, '--json']);
      t.equal(status, 0);
      rows = JSON.parse(stdout);
    }
    rows.sort((x, y) => (x.box < y.box ? -1 : 1));
    const seen = { last_seen_at: /^\d{4}-\d\d-\d\dT/ };
    t.match(rows, [
      { box: 'venue-a', epoch: 'e2', state: 'current', shipped_seq: 515, behind_events: 0, ...seen },
      { box: 'venue-b', state: 'behind', shipped_seq: 4, newest_seq: 90, behind_s: 7200, ...seen },
      { box: 'venue-c', state: null, shipped_seq: null, newest_seq: null, ...seen },
    ]);
    t.strictSame(Object.keys(rows[0]!), [
      ...['box', 'epoch', 'state', 'shipped_seq', 'newest_seq', 'behind_events', 'behind_s', 'last_seen_at'],
    ]);
    const text = (await courtd(['fleet', 'status', url])).stdout;
    t.match(text, /^venue-b +- +behind +4 +90 +86 +7200 /m);
    // As "nats kv del" does it.
    await nc.request('$KV.court-status.venue-c', '');
    t.notMatch((await courtd(['fleet', 'status', url])).stdout, 'venue-c');
  });

  await t.test('a hole ends tail with both seqs, and --after reads on behind it', async (t) => {
    const d = boxOf('venue-d');
    for (const count of [10, 5, 3]) await d.ship(count);
    const { last_seq: newest } = (await jsm.streams.info('FLEET')).state;
    await jsm.streams.deleteMessage('FLEET', newest - 1);
    const broken = await courtd(['fleet', 'tail', url, '--box', 'venue-d']);
    t.match(broken, { status: 1, stderr: /venue-d.* seq 10.* seq 15/ });
    t.strictSame(
      read(broken.stdout).map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    t.strictSame(
      (await tail('--box', 'venue-d', '--after', '15')).map(({ seq }) => seq),
      [16, 17, 18],
    );
  });

  await t.test('a stream with other settings is not changed', async (t) => {
    await jsm.streams.update('FLEET', { max_age: 1e9 * 3_600 });
    t.match(await courtd(['fleet', 'init', url]), {
      status: 1,
      stderr: /max_age is 3600000000000 instead of 0/,
    });
  });
});
