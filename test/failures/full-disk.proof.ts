import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { storedIds } from '../harness/cameras.ts';
import { Daemon, type LogLine } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { checkProblem } from '../harness/problem.ts';
import { answerOf } from '../harness/rawClient.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';
import { Fault, SYNC, WRITE, withoutStrace } from '../harness/strace.ts';

const mounting = { skip: withoutMount };
const injecting = { skip: withoutStrace };

const FULL = ({ problem }: LogLine) => problem === 'disk_full';
const ROOM = 'there is room on the disk again: events are stored';

const idsOf = (sent: readonly WireEvent[]) => sent.map(({ event_id }) => event_id).sort();

/** Sends until a request is rejected. @returns what was acknowledged, and the batch that was not. */
async function sendUntilRefused(daemon: Daemon, size = 200) {
  const acknowledged: WireEvent[] = [];
  for (;;) {
    const batch = events(size);
    const { status } = await daemon.post(batch);
    if (status !== 202) return { acknowledged, refused: batch };
    acknowledged.push(...batch);
  }
}

/** Sends again and again until it is acknowledged. */
async function sendUntilTaken(daemon: Daemon, batch: readonly WireEvent[]): Promise<void> {
  while ((await daemon.post(batch)).status !== 202) await sleep(50);
}

t.test(
  'a full disk: 503 and one line in the log, reading works, and it heals by itself',
  mounting,
  async (t) => {
    const disk = await SmallDisk.mount(t, 8);
    const daemon = await Daemon.start(t, [], disk.data);
    t.match((await daemon.command('status')).stdout, /^ ! {2}The disk has .* free, less than 1\.0 GiB/m);
    t.equal((await daemon.post(events(10, { session_id: 'before' }))).status, 202);
    disk.fill(2_000_000);
    const { acknowledged, refused } = await sendUntilRefused(daemon);
    t.ok(acknowledged.length > 0);
    disk.fill();
    for (const batch of [refused, events(1), events(500), refused, acknowledged.slice(0, 3)]) {
      const answer = await answerOf(daemon.post(batch));
      checkProblem(t, answer, 503, 'storage_full', `${batch.length} events`);
      t.equal(answer.headers.get('retry-after'), '5');
    }
    await daemon.logged(FULL);
    t.match((await daemon.command('session', 'list')).stdout, /^before +10 /m);
    t.strictSame(await storedIds(daemon), idsOf(acknowledged), 'all that was acknowledged, and nothing else');
    disk.makeRoom();
    await sendUntilTaken(daemon, refused);
    t.equal((await daemon.post(events(1, { session_id: 'after' }))).status, 202);
    t.strictSame(await storedIds(daemon), idsOf([...acknowledged, ...refused]));
    t.equal(await daemon.stop(), 0);
    t.equal(daemon.timesLogged(FULL), 1, 'once, not for each request');
  },
);

t.test('a start on a disk without room for what the log holds: 503 until there is', mounting, async (t) => {
  const disk = await SmallDisk.mount(t, 8);
  const first = await Daemon.start(t, ['--min-free', '0'], disk.data);
  // A reader keeps the log from being brought into the file.
  const reader = new Database(path.join(disk.data, 'courtd.db'), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec('BEGIN; SELECT * FROM session');
  const acknowledged: WireEvent[] = [];
  for (let i = 0; i < 12; i++) {
    const more = events(500);
    t.equal((await first.post(more)).status, 202);
    acknowledged.push(...more);
  }
  await first.stop('SIGKILL');
  reader.exec('COMMIT');
  disk.fill();
  const daemon = await Daemon.run(t, disk.data, first.token, ['--min-free', '0']);
  const again = acknowledged.slice(0, 5);
  // The last block of the log has room for a few pages.
  checkProblem(t, await answerOf(daemon.post(events(100))), 503, 'storage_full');
  t.equal((await daemon.post(again, { Authorization: 'Bearer wrong' })).status, 401);
  t.match(
    (await daemon.command('session', 'list')).stdout,
    new RegExp(`^session-1 +${acknowledged.length} `, 'm'),
  );
  disk.makeRoom();
  await sendUntilTaken(daemon, again);
  await daemon.logged(ROOM);
  t.strictSame(await storedIds(daemon), idsOf(acknowledged));
});

t.test('without room for a checkpoint the WAL still takes events', injecting, async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const fault = await Fault.begin(t, daemon, { calls: WRITE, effect: 'error=ENOSPC', file: 'courtd.db' });
  const sent: WireEvent[] = [];
  while (fault.calls === 0) {
    const batch = events(500);
    sent.push(...batch);
    t.equal((await daemon.post(batch)).status, 202);
  }
  await fault.end();
  t.equal(await daemon.stop(), 0);
  const again = await Daemon.run(t, daemon.data, daemon.token);
  t.strictSame(await storedIds(again), idsOf(sent));
});

t.test('ENOSPC from fsync is an I/O error: what did not reach the disk may be gone', injecting, async (t) => {
  const daemon = await Daemon.start(t);
  await Fault.begin(t, daemon, { calls: SYNC, effect: 'error=ENOSPC', file: 'courtd.db-wal' });
  checkProblem(t, await answerOf(daemon.post(events(3))), 503, 'storage_failed', 'fsync');
  t.equal(await daemon.exited, 1);
});
