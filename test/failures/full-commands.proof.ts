import t from 'tap';
import { fillWithEvents } from '../harness/cameras.ts';
import { Daemon, type LogLine } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';

/** What else works on a full disk, and what is said when it is full no more. */

const FULL = ({ problem }: LogLine) => problem === 'disk_full';
const ROOM = 'there is room on the disk again: events are stored';
const mounting = { skip: withoutMount };

t.test(
  'on a full disk tokens are rotated and revoked, beside a daemon and without, and serve starts',
  mounting,
  async (t) => {
    const disk = await SmallDisk.mount(t, 24);
    const daemon = await Daemon.start(t, ['--rate-limit', '0', '--min-free', '0'], disk.data);
    await fillWithEvents(daemon);
    disk.fill();
    const beside = await daemon.command('token', 'rotate');
    t.match(beside, { status: 0, stdout: /^[\w-]{43}\n$/ });
    t.equal((await daemon.post('[]', { Authorization: `Bearer ${beside.stdout.trim()}` })).status, 202);
    t.equal((await daemon.command('token', 'revoke', '1')).status, 0);
    t.equal((await daemon.post('[]')).status, 401);
    await daemon.stop('SIGKILL');
    disk.fill();
    const alone = await daemon.command('token', 'rotate');
    t.match(alone, { status: 0, stdout: /^[\w-]{43}\n$/ }, alone.stderr);
    t.equal((await daemon.command('session', 'list')).status, 0);
    disk.fill();
    const again = await Daemon.run(t, disk.data, alone.stdout.trim(), ['--min-free', '0']);
    t.equal((await again.post('[]')).status, 202);
  },
);

t.test('when there is room again the log says so, with no camera that sends', mounting, async (t) => {
  const disk = await SmallDisk.mount(t, 24);
  const daemon = await Daemon.start(t, ['--rate-limit', '0', '--min-free', '0'], disk.data);
  disk.fill();
  for (let status = 202; status === 202; ) status = (await daemon.post(events(500))).status;
  await daemon.logged(FULL);
  disk.makeRoom();
  await daemon.logged(ROOM);
  t.equal((await daemon.post(events(500))).status, 202);
});

t.test('the last use of a token outlives a commit that failed', mounting, async (t) => {
  const disk = await SmallDisk.mount(t, 24);
  const daemon = await Daemon.start(t, ['--rate-limit', '0', '--min-free', '0'], disk.data);
  disk.fill();
  // More than any room that is left: not even the first commit fits.
  const large = events(500, { note: 'x'.repeat(5_000) });
  t.equal((await daemon.post(large)).status, 503);
  disk.makeRoom();
  t.equal(await daemon.stop(), 0);
  const { stdout } = await daemon.command('token', 'list', '--json');
  t.match(JSON.parse(stdout), [{ last_used_at: /Z$/, last_used_from: '127.0.0.1' }]);
});
