import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { RESERVE_BYTES } from '../../src/base/limits.ts';
import { Cameras, fillWithEvents, storedIds } from '../harness/cameras.ts';
import { BIN, Daemon, type LogLine, start } from '../harness/daemon.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';

/** A disk that is full of courtd's own events: a prune makes room. */

const FULL = ({ problem }: LogLine) => problem === 'disk_full';
const mounting = { skip: withoutMount, timeout: 180_000 };

const prune = ['prune', '--older-than', '1s', '--yes'];
const reserved = (data: string) => fs.statSync(path.join(data, 'courtd.reserve')).size;
const walBytes = (data: string) => fs.statSync(path.join(data, 'courtd.db-wal')).size;

async function untilReserved(data: string): Promise<void> {
  while (reserved(data) !== RESERVE_BYTES) await sleep(100);
}

t.test('after a prune of a full disk the cameras get 202 again', mounting, async (t) => {
  const disk = await SmallDisk.mount(t, 16);
  const daemon = await Daemon.start(t, ['--rate-limit', '0', '--min-free', '0'], disk.data);
  await fillWithEvents(daemon);
  const cameras = new Cameras(t, daemon, { cameras: 4 });
  await daemon.logged(FULL);
  t.match(await daemon.command(...prune), { status: 0, stderr: /^Deleted \d{5,} events /m });
  await cameras.more(2_000);
  await cameras.stop();
  await untilReserved(disk.data);
  const stored = new Set(await storedIds(daemon));
  const lost = cameras.acknowledged.slice(-2_000).filter((id) => !stored.has(id));
  t.strictSame(lost, [], 'what was acknowledged since is there');
  t.equal(await daemon.stop(), 0);
});

t.test(
  'a prune that is killed on a full disk with its daemon: the next one makes room',
  mounting,
  async (t) => {
    const disk = await SmallDisk.mount(t, 24);
    const settings = ['--rate-limit', '0', '--min-free', '0'];
    const daemon = await Daemon.start(t, settings, disk.data);
    await fillWithEvents(daemon);
    const cameras = new Cameras(t, daemon, { cameras: 4 });
    const killed = start(BIN, [...prune, '--data', disk.data]);
    t.teardown(() => killed.kill('SIGKILL'));
    while (reserved(disk.data) > 0) await sleep(10);
    // Its deletes are in the WAL then, a quarter of what a checkpoint waits for.
    while (walBytes(disk.data) < 512 * 1024) await sleep(10);
    killed.kill('SIGKILL');
    await daemon.stop('SIGKILL');
    const now = await Daemon.run(t, disk.data, daemon.token, settings);
    cameras.follow(now);
    await sleep(3_000);
    const kept = reserved(disk.data);
    t.ok(kept > 0.75 * RESERVE_BYTES, `the next prune has the reserve: ${kept}`);
    t.match(await now.command('token', 'rotate'), { status: 0 });
    const { status, stderr } = await now.command(...prune);
    t.equal(status, 0, stderr);
    await cameras.more(1_000);
    await untilReserved(disk.data);
    await cameras.stop();
  },
);
