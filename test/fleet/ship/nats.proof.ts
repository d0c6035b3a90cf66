import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { type Cleanup, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { Box } from './box.ts';
import { digestOf, gapsOf, Headquarters } from './headquarters.ts';

runInProcess();

const skip = await missingNats();

/** A server with its streams, and a box that ships to it. */
async function fleet(t: Cleanup, config = '') {
  const servers = await NatsServers.start(t, { config });
  const hq = await Headquarters.connect(t, servers.url);
  await hq.init();
  const env = { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: 'venue-7' };
  return { servers, server: servers.servers[0]!, hq, env, box: new Box(t, temporaryFolder(t), env) };
}

t.test('what headquarters has is what tail says, in chunks, and once', { skip }, async (t) => {
  const { hq, box } = await fleet(t);
  t.match(await box.once(), { status: 0 });
  t.strictSame(await hq.messages('venue-7'), [], 'nothing yet');
  const sent = events(1_203);
  box.put(...sent);
  box.put(event({ payload: { trail: 'ß'.repeat(600_000) } }), event());
  const once = await box.once();
  t.equal(once.status, 0, once.stderr);
  const messages = await hq.messages('venue-7');
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
  t.match(status, { box: 'venue-7', state: 'current', behind_events: 0, behind_s: 0, error: null });
  t.match(await box.once(), { status: 0 });
  t.equal((await hq.messages('venue-7')).length, messages.length, 'and not again');
  t.match(await hq.status('venue-7'), {
    ship: { box: 'venue-7', state: 'current', shipped_seq: messages.at(-1)!.last },
  });
  box.forgetReport();
  box.put(event());
  t.match(await box.status(), { shipped_seq: null, behind_events: 1_206 });
  t.match(await box.once(), { status: 0 });
  t.equal((await hq.messages('venue-7')).length, messages.length + 1, 'no local state matters');
});

t.test('a box that has erased the player of its last message continues after it', { skip }, async (t) => {
  const { hq, box } = await fleet(t);
  box.put(event({ type: 'BALL_HIT', payload: { player_id: 'anna-17' } }));
  t.match(await box.once(), { status: 0 });
  t.match(await box.erase('anna-17'), { status: 0 });
  box.put(...events(3));
  t.match(await box.once(), { status: 0 });
  t.strictSame(
    (await hq.messages('venue-7')).map(({ after, last }) => [after, last]),
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
    const { hq, box, env } = await fleet(t);
    box.put(...events(600));
    t.match(await box.once(), { status: 0 });
    const folder = temporaryFolder(t);
    fs.cpSync(box.data, folder, { recursive: true });
    const clone = new Box(t, folder, env);
    box.put(...events(20));
    clone.put(...events(10));
    t.match(await box.once(), { status: 0 });
    const fenced = await clone.once();
    t.match(fenced, { status: 1, stderr: /not of this box.*ship --new-epoch/s });
    t.match(await clone.status(), { state: 'fenced', behind_events: 610, error: /--new-epoch/ });
    const before = await hq.messages('venue-7');
    clone.put(...events(3));
    t.match(await clone.once(), { status: 1 }, 'for good');
    t.same(await hq.messages('venue-7'), before);
    const epoch = await clone.newEpoch();
    t.match(await clone.once(), { status: 0 });
    const own = (await hq.messages('venue-7')).filter((message) => message.epoch === epoch);
    t.strictSame(gapsOf(own), []);
    t.strictSame(
      own.flatMap(({ lines }) => lines),
      await clone.lines(),
    );
    t.match(await clone.status(), { state: 'current', behind_events: 0, error: null });
    t.match(await box.once(), { status: 0 }, 'the first box goes on');
  },
);

t.test("yesterday's backup is restored: nothing comes twice, and nothing is missing", { skip }, async (t) => {
  const { hq, box } = await fleet(t);
  const backup = path.join(temporaryFolder(t), 'yesterday.db');
  box.put(...events(700));
  t.match(await box.once(), { status: 0 });
  box.put(...events(30));
  t.match(await box.command('backup', backup), { status: 0 });
  box.put(...events(250));
  t.match(await box.once(), { status: 0 });
  const first = await hq.messages('venue-7');
  t.match(await box.command('restore', backup), { status: 0 });
  t.match(await box.status(), { state: 'current', behind_events: 0 });
  box.put(...events(40));
  t.match(await box.once(), { status: 0 });
  const again = (await hq.messages('venue-7')).slice(first.length);
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
  const third = (await hq.messages('venue-7')).slice(first.length + again.length);
  t.strictSame(
    third.map(({ after, lines }) => [after, lines.length]),
    [[770, 25]],
  );
  const epoch = await box.newEpoch();
  box.forgetReport();
  box.put(event());
  t.match(await box.once(), { status: 0 });
  const last = (await hq.messages('venue-7')).at(-1)!;
  t.strictSame([last.epoch, last.after, last.lines.length], [epoch, 795, 1], 'a new epoch repeats nothing');
});

t.test(
  'an event that is too large for the servers stops shipping until they accept it',
  { skip },
  async (t) => {
    const { server, hq, box } = await fleet(t, 'max_payload: 64KB');
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

t.test('a full stream is waited for; a server that is frozen, or gone, as well', { skip }, async (t) => {
  const { server, hq, box } = await fleet(t);
  await hq.update({ max_msgs: 1 });
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
  await hq.update({ max_msgs: -1 });
  await shipper.report(({ shipped_seq }) => shipped_seq === 20);
  server.freeze();
  box.put(...events(10));
  await shipper.state('connecting', shipper.reports.length);
  t.match(await box.status(), { state: 'connecting', shipped_seq: 20, error: /does not answer/ });
  server.thaw();
  await shipper.report(({ shipped_seq }) => shipped_seq === 30);
  await server.stop();
  await shipper.report(
    ({ state, error }) => state === 'connecting' && /cannot be reached/.test(String(error)),
    shipper.reports.length,
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
});
