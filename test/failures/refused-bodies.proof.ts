import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { chanceOf } from '../harness/seed.ts';
import { SmallDisk } from '../harness/smallDisk.ts';

const MIB = 1024 ** 2;
const KILLS = 3;
/** Longer than the second after which a rejection is in the file. */
const KEPT_MS = 2_000;
const percent = { source: 'cam-3', confidence: 97 };

async function waiting(box: Daemon): Promise<string[]> {
  await box.command('rejections', 'drop', 'nobody');
  const { status, stdout, stderr } = await box.command('rejections', 'export');
  if (status !== 0) throw new Error(stderr);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).event.event_id);
}

t.test(
  `after ${KILLS} times kill -9 the requests that were rejected two seconds before are kept`,
  async (t) => {
    const random = chanceOf(t);
    let box = await Daemon.start(t, ['--rate-limit', '0']);
    const { data, token } = box;
    const refused: { id: string; at: number }[] = [];
    for (let kill = 1; kill <= KILLS; kill++) {
      const until = performance.now() + KEPT_MS + random.integer(0, 2_000);
      let isOver = false;
      const sending = (async () => {
        // A hundred requests a second: as fast as a camera.
        for (; !isOver; await sleep(10)) {
          const some = events(random.integer(1, 50), percent);
          const answer = await box.post(some).catch(() => undefined);
          if (answer?.status === 400)
            refused.push(...some.map(({ event_id }) => ({ id: event_id, at: performance.now() })));
        }
      })();
      await sleep(until - performance.now());
      const killedAt = performance.now();
      await box.stop('SIGKILL');
      isOver = true;
      await sending;
      const kept = new Set(await waiting(box));
      const lost = refused.filter(({ id, at }) => at < killedAt - KEPT_MS && !kept.has(id));
      t.strictSame(lost, [], `after kill ${kill}`);
      for (let i = refused.length - 1; i >= 0; i--) if (!kept.has(refused[i]!.id)) refused.splice(i, 1);
      box = await Daemon.run(t, data, token, ['--rate-limit', '0']);
    }
    const left = await waiting(box);
    t.equal(new Set(left).size, left.length, 'none twice');
    t.ok(left.length > 100, `${left.length} events`);
  },
);

t.test('on low disk space rejected bodies are deleted and not kept, and events are stored', async (t) => {
  const disk = await SmallDisk.mount(t, 64);
  const box = await Daemon.start(t, [], disk.data);
  t.equal((await box.post(events(100, percent))).status, 400);
  t.equal((await waiting(box)).length, 100, 'a tenth of the file system is less than COURTD_MIN_FREE');
  disk.fill(4 * MIB);
  t.equal((await box.post(events(10, percent))).status, 400);
  t.match(await box.logged(/^bodies of rejected requests were not kept/), {
    bodies: 1,
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

t.test('a damaged refused.db is replaced, and events are stored', async (t) => {
  const data = temporaryFolder(t);
  const first = await Daemon.start(t, [], data);
  await first.post(events(100, percent));
  t.equal((await waiting(first)).length, 100);
  await first.stop();
  const file = path.join(data, 'refused.db');
  fs.writeFileSync(file, Buffer.alloc(fs.statSync(file).size, 0x55));
  t.match(await first.command('rejections', 'export'), { status: 1, stderr: /refused\.db is damaged/ });
  const box = await Daemon.run(t, data, first.token);
  t.equal((await box.post(event())).status, 202);
  // The daemon has looked at it when it began.
  while ((await box.command('rejections', 'export')).status !== 0);
  await box.post(event(percent));
  t.equal((await waiting(box)).length, 1);
});
