import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { SmallDisk } from '../harness/smallDisk.ts';

const MIB = 1024 ** 2;
const percent = { source: 'cam-3', confidence: 97 };

async function waiting(box: Daemon): Promise<string[]> {
  await box.command('rejections', 'drop', 'nobody');
  const { status, stdout, stderr } = await box.command('rejections', 'export');
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').slice(0, -1);
}

t.test('on low disk space rejected bodies are deleted and not kept, and events are stored', async (t) => {
  const disk = await SmallDisk.mount(t, 64);
  const box = await Daemon.start(t, [], disk.data);
  t.equal((await box.post(events(100, percent))).status, 400);
  t.equal((await waiting(box)).length, 100, 'a tenth of the file system is less than COURTD_MIN_FREE');
  disk.fill(4 * MIB);
  t.equal((await box.post(events(10, percent))).status, 400);
  t.match(await box.logged(/^bodies of rejected requests were not kept/), {
    reason: 'the disk is nearly full',
  });
  t.strictSame(await waiting(box), []);
  t.equal((await box.post(event())).status, 202);
  disk.makeRoom();
  t.equal((await box.post(events(10, percent))).status, 400);
  t.equal((await waiting(box)).length, 10);
  disk.fill();
  // Until it is full for the events, too.
  while ((await box.post(events(100))).status === 202);
  await box.logged(({ problem }) => problem === 'disk_full');
  disk.makeRoom();
  await box.logged('there is room on the disk again: events are stored');
  t.equal((await box.post(event())).status, 202);
});
