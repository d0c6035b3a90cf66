import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { BIN, cleanEnvironment, courtd, start, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { NatsServers } from '../../harness/nats.ts';
import { missingNats } from '../../harness/natsProgram.ts';
import { missingPrograms } from '../../harness/needs.ts';
import { Box } from './box.ts';

const skip = missingPrograms({ 'systemd-socket-activate': 'systemd' }) ?? (await missingNats());

t.test(
  'a shipper without the database reads the events from the feed, and status its report',
  { skip },
  async (t) => {
    const folder = temporaryFolder(t);
    const { url } = await NatsServers.start(t);
    await courtd(['fleet', 'init', url]);
    const env = { COURTD_SHIP_URL: url, COURTD_SHIP_BOX: 'venue-7' };
    const box = new Box(t, temporaryFolder(t), env);
    box.put(...events(700));
    const socket = path.join(folder, 'feed.sock');
    // As courtd-feed.socket with Accept=yes: a process for each connection.
    const tail = [BIN, 'tail', '--json', '--follow', '--after', '-', '--data', box.data];
    const feed = start('systemd-socket-activate', ['-l', socket, '-a', '--inetd', ...tail], {
      env: cleanEnvironment(),
    });
    const ended = new Promise((resolve) => feed.once('exit', resolve));
    t.teardown(() => feed.kill('SIGKILL'));
    while (!fs.existsSync(socket)) await sleep(20);
    const nowhere = new Box(t, temporaryFolder(t), { ...box.env, COURTD_SHIP_FEED: socket });
    fs.rmSync(nowhere.data, { recursive: true });
    const shipper = nowhere.ship();
    await shipper.report(({ shipped_seq }) => shipped_seq === 700);
    t.match(await box.status(), { state: 'current', shipped_seq: 700, behind_events: 0 });
    box.put(event());
    await shipper.report(({ shipped_seq }) => shipped_seq === 701);
    await shipper.stop('SIGKILL');
    t.match(await box.status(), { shipped_seq: 701, behind_events: 0 }, 'true after it was killed');
    t.match(await box.once(), { status: 0 });
    t.notOk(fs.existsSync(nowhere.data));
    feed.kill('SIGTERM');
    await ended;
  },
);
