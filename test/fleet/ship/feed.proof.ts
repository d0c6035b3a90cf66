import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { BIN, cleanEnvironment, start, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { missingPrograms } from '../../harness/needs.ts';
import { Box } from './box.ts';
import { Headquarters } from './headquarters.ts';

const skip = missingPrograms({ 'systemd-socket-activate': 'systemd' }) ?? (await missingNats());

t.test(
  'a shipper without the database has its events from the feed, and tells it how far it is',
  { skip },
  async (t) => {
    const folder = temporaryFolder(t);
    const { url } = await NatsServers.start(t);
    await (await Headquarters.connect(t, url)).init();
    const env = { COURTD_SHIP_URL: url, COURTD_SHIP_BOX: 'venue-7' };
    const box = new Box(t, temporaryFolder(t), env);
    box.put(...events(700));
    const socket = path.join(folder, 'feed.sock');
    const command = ['-l', socket, BIN, 'ship', 'feed', '--data', box.data];
    const feed = start('systemd-socket-activate', command, { env: cleanEnvironment() });
    const ended = new Promise<number | null>((resolve) => feed.once('exit', resolve));
    t.teardown(() => feed.kill('SIGKILL'));
    const nowhere = new Box(t, temporaryFolder(t), { ...env, COURTD_SHIP_FEED: socket });
    fs.rmSync(nowhere.data, { recursive: true });
    const shipper = nowhere.ship();
    await shipper.report(({ shipped_seq }) => shipped_seq === 700);
    t.match(await box.status(), { state: 'current', shipped_seq: 700, behind_events: 0 });
    t.match(await box.once(), { status: 1, stderr: /being shipped already/ }, 'one shipper at a time');
    box.put(event());
    await shipper.report(({ shipped_seq }) => shipped_seq === 701);
    await shipper.stop('SIGKILL');
    t.match(await box.status(), { shipped_seq: 701, behind_events: 0 }, 'true after it was killed');
    feed.kill('SIGTERM');
    t.equal(await ended, 0);
    t.match(await box.status(), { state: 'current', shipped_seq: 701 }, 'and after the feed has ended');
    t.notOk(fs.existsSync(nowhere.data));
    while (fs.existsSync(path.join(box.data, 'ship.sock'))) await sleep(20);
    t.match(await box.once(), { status: 0 });
  },
);
