import readline from 'node:readline';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import t from 'tap';
import { BIN, courtd, start } from '../../harness/daemon.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { bad, type CheckResult, NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { arrivalLine, chunkOf, SimulatedBox } from '../../harness/simulatedBox.ts';

runInProcess();

const skip = await missingNats();

async function reconnected(nc: NatsConnection): Promise<void> {
  for await (const { type } of nc.status()) if (type === 'reconnect') return;
}

t.test('one server: init, check, tail and status', { skip }, async (t) => {
  const servers = await NatsServers.start(t);
  const nc = await servers.connect(t);
  const { url } = servers;

  await t.test('without streams every command says what to do, and init makes them, once', async (t) => {
    const early = await courtd(['fleet', 'status', url]);
    t.equal(early.status, 1);
    t.match(early.stderr, /^courtd: There is no stream FLEET here: "courtd fleet init" creates it\.\n$/);
    t.match(await courtd(['fleet', 'retire', url, '--box', 'venue-a']), {
      status: 1,
      stderr: /"courtd fleet init"/,
    });
    t.match(bad((await servers.check()).results), [{ message: /no stream FLEET/, advice: /fleet init/ }]);
    const made = await courtd(['fleet', 'init', url]);
    t.strictSame(made, {
      status: 0,
      stdout: 'FLEET: made, 1 copy\nFLEET_STATUS: made, 1 copy\n',
      stderr: '',
    });
    const again = await courtd(['fleet', 'init', url]);
    t.match(again, { status: 0, stdout: /^FLEET: was there, 1 copy\n/ });
    const jsm = await jetstreamManager(nc);
    const { config } = await jsm.streams.info('FLEET');
    t.match(config, {
      subjects: ['court.v1.*.*'],
      storage: 'file',
      discard: 'new',
      max_age: 0,
      deny_delete: false,
      deny_purge: true,
      allow_direct: true,
      num_replicas: 1,
    });
    t.match((await jsm.streams.info('FLEET_STATUS')).config, {
      subjects: ['court-status.v1.*'],
      max_msgs_per_subject: 1,
    });
  });

  const [a, b] = [new SimulatedBox(nc, 'venue-a'), new SimulatedBox(nc, 'venue-b')];
  const lines: { box: string; epoch: string; line: string }[] = [];
  const ship = async (box: SimulatedBox, count: number) => {
    const sent = await box.ship(count);
    lines.push(...sent.map((line) => ({ box: box.box, epoch: box.epoch, line })));
  };
  for (const [box, count] of [
    [a, 500],
    [b, 3],
    [a, 20],
    [b, 1],
  ] as const)
    await ship(box, count);
  // What was pruned leaves a hole in the seqs, and none in the chain.
  const late = [arrivalLine(700), arrivalLine(701)];
  await a.send(chunkOf(a.last, 701, late));
  lines.push(...late.map((line) => ({ box: 'venue-a', epoch: 'e1', line })));

  const shown = (which: typeof lines) =>
    which.map(({ box, epoch, line }) => ({ box, epoch, ...JSON.parse(line) }));
  const tail = async (...args: string[]) => {
    const { status, stdout, stderr } = await courtd(['fleet', 'tail', url, ...args]);
    t.strictSame([status, stderr], [0, '']);
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  };

  await t.test('tail gives every event of every box, in the order of its log', async (t) => {
    t.strictSame(await tail(), shown(lines));
    t.strictSame(await tail('--box', 'venue-b'), shown(lines.filter(({ box }) => box === 'venue-b')));
    const after = await tail('--box', 'venue-a', '--after', '510');
    t.strictSame(
      after.map(({ seq }) => seq),
      [511, 512, 513, 514, 515, 516, 517, 518, 519, 520, 700, 701],
    );
    t.strictSame(await tail('--box', 'venue-c'), []);
  });

  await t.test('tail --follow goes on with what comes, also when the server was away', async (t) => {
    const follower = start(BIN, ['fleet', 'tail', url, '--box', 'venue-f', '--follow']);
    t.teardown(() => follower.kill('SIGKILL'));
    const lines = readline.createInterface(follower.stdout)[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await lines.next()).value!).seq;
    const box = new SimulatedBox(nc, 'venue-f');
    await box.ship(2);
    t.strictSame([await next(), await next()], [1, 2]);
    await box.ship(1);
    t.equal(await next(), 3);
    const back = reconnected(nc);
    await servers.servers[0]!.restart();
    await back;
    await box.ship(1);
    t.equal(await next(), 4);
  });

  await t.test('status shows the worst box first, a line each', async (t) => {
    const ok = { url, last_ack_at: null, error: null, problems: [] };
    await a.tell({
      ...ok,
      state: 'current',
      shipped_seq: 701,
      newest_seq: 701,
      behind_events: 0,
      behind_s: 0,
    });
    await b.tell({
      ...ok,
      state: 'behind',
      shipped_seq: 4,
      newest_seq: 90,
      behind_events: 86,
      behind_s: 7200,
      problems: [{ code: 'silent', level: 'fail', message: 'court-2 is silent\u0007', advice: 'Look.' }],
    });
    const json = await courtd(['fleet', 'status', url, '--json']);
    t.equal(json.status, 0, json.stderr);
    t.match(JSON.parse(json.stdout), [
      {
        box: 'venue-b',
        state: 'behind',
        behind_events: 86,
        behind_s: 7200,
        silent_since: null,
        problems: [{ code: 'silent' }],
      },
      { box: 'venue-a', state: 'current', behind_events: 0, shipped_seq: 701, epoch: 'e1', problems: [] },
    ]);
    const text = await courtd(['fleet', 'status', url]);
    const [, first, second, third, sum, ...none] = text.stdout.split('\n');
    t.match(first, /^venue-b +behind +86 \(2h\) +\S+ +\S+ +court-2 is silent/);
    t.notMatch(first, '\u0007');
    t.match(second, /^venue-a +current +0 /);
    t.match(third, /^venue-f +- +- +- /, 'it has told nothing');
    t.equal(sum, '3 boxes: 1 with problems, 0 silent, 0 behind, 2 well');
    t.strictSame(none, ['']);
  });

  await t.test('a box that is retired is not silent for ever, and its events stay', async (t) => {
    const retire = (box: string) => courtd(['fleet', 'retire', url, '--box', box]);
    t.strictSame(await retire('venue-a'), {
      status: 0,
      stdout: 'venue-a: retired, its events stay\n',
      stderr: '',
    });
    const { stdout } = await courtd(['fleet', 'status', url, '--json']);
    t.match(
      JSON.parse(stdout).find(({ box }: { box: string }) => box === 'venue-a'),
      { state: null, last_status_at: null, shipped_seq: 701 },
    );
    t.match(await retire('venue-a'), { status: 1, stderr: /^courtd: No status of a box venue-a is here/ });
  });

  await t.test('check finds the chains whole, across an epoch that a restore has begun', async (t) => {
    a.begin('e2', 510);
    await a.ship(5);
    const { status, results } = await servers.check();
    t.equal(status, 0);
    t.match(bad(results), [{ name: 'replicas', level: 'warn' }]);
    t.match(
      results.find(({ name }) => name === 'chain'),
      { level: 'ok', message: '3 boxes, 9 chunks, 535 events' },
    );
    const people = await courtd(['fleet', 'check', url, '--monitor', servers.monitors]);
    t.match(people, { status: 0, stdout: /^ok {4}version: (?:.*\n)*warn {2}replicas: / });
  });

  await t.test('what check cannot read is a failure that says what to open', async (t) => {
    const { status, stdout } = await courtd(['fleet', 'check', url, '--json']);
    t.equal(status, 1);
    t.match(bad(JSON.parse(stdout)), [
      { name: 'sync', level: 'fail', message: /sync_interval/, advice: /--monitor/ },
      {},
    ]);
    const closed = await courtd(['fleet', 'check', url, '--json', '--monitor', 'http://127.0.0.1:19999']);
    t.equal(closed.status, 1);
    t.match(bad(JSON.parse(closed.stdout))[0], {
      message: /Cannot read http:\/\/127\.0\.0\.1:19999: ECONNREFUSED/,
      advice: /Open the monitoring port/,
    });
  });

  await t.test('two machines that ship under one name are a warning', async (t) => {
    await new SimulatedBox(nc, 'venue-b', 'e2').ship(2);
    await b.ship(1);
    const { status, results } = await servers.check();
    t.equal(status, 0);
    t.match(bad(results), [
      { name: 'replicas' },
      { name: 'chain', level: 'warn', message: /^Two machines ship as venue-b:/, advice: /COURTD_SHIP_BOX/ },
    ]);
  });

  await t.test('a chunk that headquarters deleted is missing by name, and no fault of its box', async (t) => {
    const jsm = await jetstreamManager(nc);
    const d = new SimulatedBox(nc, 'venue-d');
    for (const count of [10, 5, 3, 4]) await d.ship(count);
    const { last_seq: newest } = (await jsm.streams.info('FLEET')).state;
    // The stream's last message as well: its box has not sent it again yet.
    for (const at of [newest - 2, newest]) await jsm.streams.deleteMessage('FLEET', at);
    const { status, results } = await servers.check();
    t.equal(status, 0);
    t.match(
      bad(results).filter(({ message }) => /venue-d/.test(message)),
      [
        {
          name: 'chain',
          level: 'warn',
          message: /^Of the box venue-d seq 11 to 15 are missing \(epoch e1, before message \d+\)/,
          advice: /no fault of the box.*--after 10/,
        },
      ],
    );
    const seqs = (await tail('--box', 'venue-d')).map(({ seq }) => seq);
    t.strictSame(seqs, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18]);
    t.equal((await tail()).at(-1).seq, 18, 'without --box, too');
    const { stdout } = await courtd(['fleet', 'status', url, '--json']);
    t.match(
      JSON.parse(stdout).find(({ box }: { box: string }) => box === 'venue-d'),
      { shipped_seq: 18 },
    );
  });

  await t.test('a broken chain is named with its box and place', async (t) => {
    const c = new SimulatedBox(nc, 'venue-c');
    await c.ship(10);
    await c.send({ ...chunkOf(20, 21, [arrivalLine(21)]), sha256: '0'.repeat(64) });
    const { status, results } = await servers.check();
    t.equal(status, 1);
    t.match(
      results.filter(({ level }) => level === 'fail').map(({ message }) => message),
      [
        /box venue-c is broken at message \d+ \(epoch e1\): it begins after seq 20, and the one before it ends with seq 10\./,
        /venue-c.*Courtd-SHA256/,
      ],
    );
    const damaged = await courtd(['fleet', 'tail', url, '--box', 'venue-c']);
    t.equal(damaged.status, 1);
    t.match(damaged.stderr, /"courtd fleet check" tells what is broken/);
  });
});

t.test(
  'three servers: init waits for their election, and the log outlives its leader',
  { skip },
  async (t) => {
    const servers = await NatsServers.start(t, { servers: 3, early: true });
    // One server's address is enough.
    const [first] = servers.url.split(',');
    let made = await courtd(['fleet', 'init', first!]);
    while (/Nothing answers/.test(made.stderr)) made = await courtd(['fleet', 'init', first!]);
    t.match(made, { status: 0, stdout: 'FLEET: made, 3 copies\nFLEET_STATUS: made, 3 copies\n' });
    await servers.ready();
    const nc = await servers.connect(t);
    const box = new SimulatedBox(nc, 'venue-a');
    const sent = [...(await box.ship(100)), ...(await box.ship(50))];
    const { status, results } = await servers.check();
    t.strictSame([status, bad(results)], [0, []]);

    // A stream that was made on one server gets its copies once there are three.
    const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 30_000 });
    await jsm.streams.update('FLEET_STATUS', { num_replicas: 1 });
    t.match(await courtd(['fleet', 'init', servers.url]), {
      status: 0,
      stdout: 'FLEET: was there, 3 copies\nFLEET_STATUS: has more replicas now, 3 copies\n',
    });

    const some = await courtd([
      'fleet',
      'check',
      servers.url,
      '--monitor',
      servers.servers[0]!.monitor,
      '--json',
    ]);
    t.equal(some.status, 1);
    t.match(bad(JSON.parse(some.stdout)), [{ name: 'monitor', message: /n2, n3|n3, n2/ }]);

    await (await servers.leader('FLEET')).stop();
    await servers.leader('FLEET');
    const tail = await courtd(['fleet', 'tail', servers.url]);
    t.equal(tail.status, 0, tail.stderr);
    t.strictSame(
      tail.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
      sent.map((line) => ({ box: 'venue-a', epoch: 'e1', ...JSON.parse(line) })),
    );

    // One of three is left: no quorum, and a sentence after a minute for each of two tries.
    const [left, other] = servers.servers.filter(({ pid }) => pid !== undefined);
    await other!.stop();
    // A leader takes a while to see that nobody follows: until then it says what it knows, and the log cannot be read.
    const alone = ['fleet', 'check', `nats://127.0.0.1:${left!.port}`, '--monitor', left!.monitor, '--json'];
    const found: CheckResult[] = JSON.parse((await courtd(alone)).stdout);
    const failed = found.filter(({ level }) => level === 'fail');
    t.match(
      failed.map(({ message }) => message).join('\n'),
      /did not answer.*more than half of the servers run/,
    );
    t.match(failed.at(-1), { name: 'chain', advice: 'Fix that, and run this again.' });
  },
);

t.test('tail --order eot sorts all boxes; with --follow each box by itself', { skip }, async (t) => {
  const servers = await NatsServers.start(t);
  const nc = await servers.connect(t);
  t.match(await courtd(['fleet', 'init', servers.url]), { status: 0 });
  const [a, b] = [new SimulatedBox(nc, 'venue-a'), new SimulatedBox(nc, 'venue-b')];
  // Received a millisecond after each other, by the clock of their box.
  const ship = (box: SimulatedBox, ms: number) =>
    box.ship(1, { eot: new Date(Date.UTC(2026, 2, 14, 15) + ms).toISOString() });
  for (const ms of [30, 10]) await ship(a, ms);
  await ship(b, 20);
  const order = ['--order', 'eot'];
  const all = await courtd(['fleet', 'tail', servers.url, ...order]);
  const shown = (line: string) => {
    const { box, seq, late } = JSON.parse(line);
    return `${box} ${seq}${late === true ? ' late' : ''}`;
  };
  t.strictSame(all.stdout.trimEnd().split('\n').map(shown), ['venue-a 2', 'venue-b 1', 'venue-a 1']);
  const follower = start(BIN, ['fleet', 'tail', servers.url, '--follow', ...order, '--window', '0ms']);
  t.teardown(() => follower.kill('SIGKILL'));
  const lines = readline.createInterface(follower.stdout)[Symbol.asyncIterator]();
  const next = async () => shown((await lines.next()).value!);
  t.strictSame([await next(), await next(), await next()].toSorted(), [
    'venue-a 1',
    'venue-a 2 late',
    'venue-b 1',
  ]);
  await ship(a, 40);
  t.equal(await next(), 'venue-a 3');
});
