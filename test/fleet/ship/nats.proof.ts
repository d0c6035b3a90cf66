import fs from 'node:fs';
import path from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import t from 'tap';
import { Connector } from '../../../src/fleet/nats/connect.ts';
import { Moved } from '../../../src/fleet/ship/cursor.ts';
import { NatsLog } from '../../../src/fleet/ship/natsLog.ts';
import { type Cleanup, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { type NatsServer, NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { arrivalLine } from '../../harness/simulatedBox.ts';
import { Box } from './box.ts';
import { digestOf, gapsOf, Headquarters } from './headquarters.ts';

runInProcess();

const skip = await missingNats();

interface Fleet {
  readonly servers: NatsServers;
  readonly server: NatsServer;
  readonly hq: Headquarters;
  /** Its box is `name`. */
  box(t: Cleanup, name: string, data?: string): Box;
}

/** A server with its streams. */
async function fleetOf(t: Cleanup, config?: string): Promise<Fleet> {
  const servers = await NatsServers.start(t, config === undefined ? {} : { config });
  const hq = await Headquarters.start(t, servers.url);
  const box = (t: Cleanup, name: string, data = temporaryFolder(t)) =>
    new Box(t, data, { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: name });
  return { servers, server: servers.servers[0]!, hq, box };
}

const fleet = skip ? undefined! : await fleetOf(t);

t.test('a chunk is stored only behind the message that its shipper has seen last', { skip }, async (t) => {
  const log = new NatsLog(new Connector({ url: fleet.servers.url }), 'venue-0', () => {});
  t.teardown(() => log.close());
  const chunk = (seq: number) => ({ after: seq - 1, last: seq, lines: [arrivalLine(seq)] });
  const isRefused = (seq: number, last: number) =>
    log.publish('e', chunk(seq), last).then(
      () => false,
      (error) => error instanceof Moved,
    );
  const first = await log.publish('e', chunk(1), 0);
  t.ok(await isRefused(1, 0), 'its resend, or a late original');
  await log.publish('e', chunk(2), first);
  t.ok(await isRefused(2, first));
  t.strictSame(
    (await fleet.hq.messages('venue-0')).map(({ last }) => last),
    [1, 2],
  );
});

t.test('headquarters has each event that tail prints, in chunks and once', { skip }, async (t) => {
  const { hq } = fleet;
  const box = fleet.box(t, 'venue-1');
  t.match(await box.once(), { status: 0 });
  t.strictSame(await hq.messages('venue-1'), [], 'nothing yet');
  const sent = events(1_203);
  box.put(...sent);
  box.put(event({ payload: { trail: 'ß'.repeat(600_000) } }), event());
  const once = await box.once();
  t.equal(once.status, 0, once.stderr);
  const messages = await hq.messages('venue-1');
  t.strictSame(
    messages.map(({ lines }) => lines.length),
    [500, 500, 203, 1, 1],
  );
  t.strictSame(gapsOf(messages), []);
  const all = await box.lines();
  t.equal(digestOf(messages.flatMap(({ lines }) => lines)), digestOf(all));
  const { shipped_seq, newest_seq, ...status } = await box.status();
  t.equal(shipped_seq, newest_seq);
  t.equal(shipped_seq, messages.at(-1)!.last);
  t.match(status, { box: 'venue-1', state: 'current', behind_events: 0, behind_s: 0, error: null });
  t.match(await box.once(), { status: 0 });
  t.equal((await hq.messages('venue-1')).length, messages.length, 'and not again');
  t.match(await hq.status('venue-1'), {
    ship: { box: 'venue-1', state: 'current', shipped_seq: messages.at(-1)!.last },
  });
  box.forgetReport();
  box.put(event());
  t.match(await box.status(), { shipped_seq: null, behind_events: 1_206 });
  t.match(await box.once(), { status: 0 });
  t.equal((await hq.messages('venue-1')).length, messages.length + 1, 'no local state matters');
});

t.test('a box that has erased the player of its last message continues after it', { skip }, async (t) => {
  const { hq } = fleet;
  const box = fleet.box(t, 'venue-2');
  box.put(event({ type: 'BALL_HIT', payload: { player_id: 'anna-17' } }));
  t.match(await box.once(), { status: 0 });
  t.match(await box.erase('anna-17'), { status: 0 });
  box.put(...events(3));
  t.match(await box.once(), { status: 0 });
  t.strictSame(
    (await hq.messages('venue-2')).map(({ after, last }) => [after, last]),
    [
      [0, 1],
      [1, 4],
    ],
  );
});

t.test(
  'a clone that continues by itself is fenced, reports it, and loses nothing with a new epoch',
  { skip },
  async (t) => {
    const { hq } = fleet;
    const box = fleet.box(t, 'venue-3');
    box.put(...events(600));
    t.match(await box.once(), { status: 0 });
    const folder = temporaryFolder(t);
    fs.cpSync(box.data, folder, { recursive: true });
    const clone = fleet.box(t, 'venue-3', folder);
    box.put(...events(20));
    clone.put(...events(10));
    t.match(await box.once(), { status: 0 });
    const fenced = await clone.once();
    t.match(fenced, { status: 1, stderr: /not of this box.*ship --new-epoch/s });
    t.match(await clone.status(), { state: 'fenced', behind_events: 610, error: /--new-epoch/ });
    const before = await hq.messages('venue-3');
    clone.put(...events(3));
    t.match(await clone.once(), { status: 1 }, 'for good');
    t.same(await hq.messages('venue-3'), before);
    const epoch = await clone.newEpoch();
    t.match(await clone.once(), { status: 0 });
    const own = (await hq.messages('venue-3')).filter((message) => message.epoch === epoch);
    t.strictSame(gapsOf(own), []);
    t.strictSame(
      own.flatMap(({ lines }) => lines),
      await clone.lines(),
    );
    t.match(await clone.status(), { state: 'current', behind_events: 0, error: null });
    t.match(await box.once(), { status: 0 }, 'the first box continues');
  },
);

t.test("yesterday's backup is restored: nothing comes twice, and nothing is missing", { skip }, async (t) => {
  const { hq } = fleet;
  const box = fleet.box(t, 'venue-4');
  const backup = path.join(temporaryFolder(t), 'yesterday.db');
  box.put(...events(700));
  t.match(await box.once(), { status: 0 });
  box.put(...events(30));
  t.match(await box.command('backup', backup), { status: 0 });
  box.put(...events(250));
  t.match(await box.once(), { status: 0 });
  const first = await hq.messages('venue-4');
  t.match(await box.command('restore', backup), { status: 0 });
  t.match(await box.status(), { state: 'current', behind_events: 0 });
  box.put(...events(40));
  t.match(await box.once(), { status: 0 });
  const again = (await hq.messages('venue-4')).slice(first.length);
  t.strictSame(
    again.map(({ after, lines }) => [after, lines.length]),
    [[730, 40]],
  );
  t.not(again[0]!.epoch, first[0]!.epoch);
  t.strictSame(again[0]!.lines, await box.lines(730));
  // And one of before anything of its end was shipped.
  box.put(...events(25));
  t.match(await box.command('backup', path.join(path.dirname(backup), 'today.db')), { status: 0 });
  t.match(await box.command('restore', path.join(path.dirname(backup), 'today.db')), { status: 0 });
  t.match(await box.once(), { status: 0 });
  const third = (await hq.messages('venue-4')).slice(first.length + again.length);
  t.strictSame(
    third.map(({ after, lines }) => [after, lines.length]),
    [[770, 25]],
  );
  const epoch = await box.newEpoch();
  box.forgetReport();
  box.put(event());
  t.match(await box.once(), { status: 0 });
  const last = (await hq.messages('venue-4')).at(-1)!;
  t.strictSame([last.epoch, last.after, last.lines.length], [epoch, 795, 1], 'a new epoch repeats nothing');
});

t.test(
  'an event that is too large for the servers stops shipping until they accept it',
  { skip },
  async (t) => {
    const { server, hq, ...own } = await fleetOf(t, 'max_payload: 64KB');
    const box = own.box(t, 'venue-7');
    const noise = () => Array.from({ length: 150_000 }, () => Math.random().toString(36)[3] ?? 'x').join('');
    box.put(...events(3));
    const shipper = box.ship();
    await shipper.report(({ shipped_seq }) => shipped_seq === 3);
    box.put(event({ payload: { noise: noise() } }), ...events(2));
    const { error } = await shipper.state('refused');
    t.match(error, /max_payload: 9MB/);
    t.match(shipper.stderr, /accepts messages of 65536 bytes/, 'and it was said when it connected');
    fs.writeFileSync(
      server.configuration,
      fs.readFileSync(server.configuration, 'utf8').replace('64KB', '9MB'),
    );
    await server.restart();
    await shipper.report(({ shipped_seq }) => shipped_seq === 6);
    t.equal(await shipper.stop(), 0);
    const messages = await hq.messages('venue-7');
    t.strictSame(gapsOf(messages), []);
    t.strictSame(
      messages.flatMap(({ lines }) => lines),
      await box.lines(),
    );
  },
);

t.test(
  'a shipper waits for a full stream, a frozen server and a server that has ended',
  { skip },
  async (t) => {
    const { servers, server, hq, ...own } = await fleetOf(t);
    const box = own.box(t, 'venue-7');
    const { streams } = await jetstreamManager(await servers.connect(t));
    await streams.update('FLEET', { max_msgs: 1 });
    const shipper = box.ship();
    box.put(...events(10));
    await shipper.report(({ shipped_seq }) => shipped_seq === 10);
    box.put(...events(10));
    await shipper.report(({ state, error }) => state === 'behind' && /maximum messages/.test(String(error)));
    t.match(await box.status(), {
      state: 'behind',
      shipped_seq: 10,
      behind_events: 10,
      error: /maximum messages/,
    });
    await streams.update('FLEET', { max_msgs: -1 });
    await shipper.report(({ shipped_seq }) => shipped_seq === 20);
    server.signal('SIGSTOP');
    box.put(...events(10));
    await shipper.state('connecting');
    t.match(await box.status(), { state: 'connecting', shipped_seq: 20, error: /does not answer/ });
    server.signal('SIGCONT');
    await shipper.report(({ shipped_seq }) => shipped_seq === 30);
    await server.stop();
    await shipper.report(
      ({ state, error }) => state === 'connecting' && /cannot be reached/.test(String(error)),
    );
    server.start();
    box.put(event());
    await shipper.report(({ shipped_seq }) => shipped_seq === 31);
    t.equal(await shipper.stop(), 0);
    t.match(await box.status(), { state: 'current', shipped_seq: 31 });
    const messages = await hq.messages('venue-7');
    t.strictSame(gapsOf(messages), []);
    t.strictSame(
      messages.flatMap(({ lines }) => lines),
      await box.lines(),
    );
  },
);
