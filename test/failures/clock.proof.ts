import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { type Cleanup, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';

/** The clock of the box is set while the daemon runs. */

const [LIBRARY] = fs.globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
const skip = { skip: LIBRARY === undefined && 'libfaketime is not installed' };

// Two of them wait for the end of a grace: at the same time.
t.jobs = 2;

/** A daemon whose clock can be set; time passes in it as everywhere. */
async function daemonWithClock(t: Cleanup, args: readonly string[] = []) {
  const file = path.join(temporaryFolder(t), 'clock');
  // Renamed into place: the library reads it at every look at the clock.
  const setClock = (offset: string) => {
    fs.writeFileSync(`${file}.new`, `${offset}\n`);
    fs.renameSync(`${file}.new`, file);
  };
  setClock('+0');
  const daemon = await Daemon.start(t, args, undefined, {
    LD_PRELOAD: LIBRARY ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  });
  return { daemon, setClock };
}

t.test('the grace of a token keeps its length when the clock is set', skip, async (t) => {
  const { daemon, setClock } = await daemonWithClock(t);
  const statusOf = async (token: string) =>
    (await daemon.post(event(), { Authorization: `Bearer ${token}` })).status;
  const rotate = async (grace: string) => {
    setClock('+0');
    const { stdout } = await daemon.command('token', 'rotate', '--grace', grace);
    return stdout.trim();
  };
  const long = daemon.token;
  const next = await rotate('1h');
  t.equal(await statusOf(long), 202);
  for (const offset of ['+2d', '-30d', '+3650d']) {
    setClock(offset);
    t.strictSame([await statusOf(long), await statusOf(next)], [202, 202], offset);
  }
  await rotate('8s');
  t.equal(await statusOf(next), 202);
  setClock('-1d');
  while ((await statusOf(next)) === 202) await sleep(50);
  t.strictSame([await statusOf(long), await statusOf(next)], [401, 401], 'both have ended');
});

t.test('a grace is not longer on a box that starts with a clock far in the past', skip, async (t) => {
  const { daemon } = await daemonWithClock(t);
  t.equal(await daemon.stop(), 0);
  const { stdout } = await daemon.command('token', 'rotate', '--grace', '8s');
  const years = { LD_PRELOAD: LIBRARY ?? '', FAKETIME: '-3650d', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const behind = await Daemon.run(t, daemon.data, stdout.trim(), [], years);
  const statusOf = async (token: string) =>
    (await behind.post(event(), { Authorization: `Bearer ${token}` })).status;
  t.equal(await statusOf(daemon.token), 202);
  while ((await statusOf(daemon.token)) === 202) await sleep(50);
  t.equal(await statusOf(daemon.token), 401);
  t.equal(await statusOf(behind.token), 202);
});
