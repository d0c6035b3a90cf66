import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { FakeNotify } from '../harness/fakeNotify.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';

const mounting = { skip: withoutMount };

t.test(
  'a full disk is reported, and neither it nor a lock of another program stops the watchdog messages',
  mounting,
  async (t) => {
    const systemd = new FakeNotify(t);
    const disk = await SmallDisk.mount(t, 8);
    const env = { ...systemd.env, WATCHDOG_USEC: '600000' };
    const daemon = await Daemon.start(t, [], disk.data, env);
    const fed = () =>
      systemd.messages.find((message) => message.includes('WATCHDOG=1'), systemd.messages.all.length);
    const other = new Database(path.join(daemon.data, 'courtd.db'), { timeout: 0 });
    t.teardown(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    await fed();
    t.equal((await daemon.post(event())).status, 503);
    await fed();
    other.exec('ROLLBACK');
    disk.fill();
    while ((await daemon.post(events(100))).status === 202);
    await systemd.messages.find((message) => /STATUS=The disk is full\b/.test(message));
    await fed();
  },
);
