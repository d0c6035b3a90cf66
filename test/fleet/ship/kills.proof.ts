import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Cameras } from '../../harness/cameras.ts';
import { Daemon } from '../../harness/daemon.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { chanceOf } from '../../harness/seed.ts';
import { Box } from './box.ts';
import { digestOf, gapsOf, Headquarters } from './headquarters.ts';

const KILLS = 6;
/** Between two kills, at most. */
const LIFE_MS = 2_000;

t.test(
  'after the box and its server were killed at random, headquarters has every event once and in order',
  { skip: await missingNats() },
  async (t) => {
    const random = chanceOf(t);
    const servers = await NatsServers.start(t);
    const hq = await Headquarters.start(t, servers.url);
    let daemon = await Daemon.start(t);
    const box = new Box(t, daemon.data, { COURTD_SHIP_URL: servers.url, COURTD_SHIP_BOX: 'venue-7' });
    let shipper = box.ship();
    const cameras = new Cameras(t, daemon, { cameras: 1, batch: 200, pauseMs: 60 });
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(random.integer(0, LIFE_MS));
      await Promise.all([
        (async () => {
          await Promise.all([daemon.stop('SIGKILL'), shipper.stop('SIGKILL')]);
          daemon = await Daemon.run(t, daemon.data, daemon.token);
          cameras.follow(daemon);
          shipper = box.ship();
        })(),
        random.chance(0.7) ? servers.servers[0]!.restart() : Promise.resolve(),
      ]);
    }
    await cameras.stop();
    await daemon.stop();
    await shipper.stop();
    t.match(await box.once(), { status: 0 });
    const messages = await hq.messages('venue-7');
    t.strictSame(gapsOf(messages), []);
    const stored = await box.lines();
    t.ok(stored.length >= cameras.acknowledged.length && stored.length > 100, `${stored.length} events`);
    t.equal(digestOf(messages.flatMap(({ lines }) => lines)), digestOf(stored));
  },
);
