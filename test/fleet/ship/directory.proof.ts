import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type Daemon, run, temporaryFolder } from '../../harness/daemon.ts';
import { event, events } from '../../harness/events.ts';
import { runInProcess } from '../../harness/inProcess.ts';
import { SmallDisk, withoutMount } from '../../harness/smallDisk.ts';
import { Fault, SYNC, withoutStrace } from '../../harness/strace.ts';
import { CopyingBox } from './copied.ts';
import { killCopying } from './copyKills.ts';

runInProcess();

const SEED = Number(process.env.SHIP_SEED ?? Date.now() % 1e6);
const saying = (text: RegExp) => (report: Record<string, unknown>) => text.test(`${report.error}`);

/** A stick: it is plugged in at a place, and pulled out, whatever is under way. */
async function mounts(t: Test, place: string) {
  const mount = async (...args: string[]) => {
    const { status, stderr } = await run('mount', args);
    if (status !== 0) throw new Error(stderr);
  };
  const pull = () => run('umount', ['-l', place]);
  t.teardown(pull);
  return {
    plugIn: (stick: SmallDisk) => mount('--bind', stick.folder, place),
    pull,
    remount: (how: string) => mount('-o', `remount,bind,${how}`, place),
  };
}

t.test(
  'daemon and shipper are killed at random: the copy has all that was reported, once, in order',
  async (t) => {
    const result = await killCopying(t, 6, SEED);
    t.comment(JSON.stringify({ seed: SEED, ...result }));
    t.strictSame(result.faults, []);
    t.ok(result.isWhole, 'the copy is what tail says');
  },
);

t.test(
  'a stick that is full, read-only, pulled out, swapped and back is said, and copied on',
  { skip: withoutMount },
  async (t) => {
    const place = path.join(temporaryFolder(t), 'copy');
    fs.mkdirSync(place);
    const { plugIn, pull, remount } = await mounts(t, place);
    const [stick, other] = [await SmallDisk.mount(t, 2), await SmallDisk.mount(t, 4)];
    const box = new CopyingBox(t, place);
    await plugIn(stick);
    box.put(...events(500));
    const shipper = box.ship();
    await shipper.state('current');
    const copied = () =>
      shipper.report(({ state, shipped_seq }) => state === 'current' && shipped_seq === newest);
    let newest = 500;
    const put = (count: number) => {
      box.put(...Array.from({ length: count }, () => event({ note: Math.random().toString(36).repeat(3) })));
      newest += count;
    };

    stick.fill();
    put(400);
    t.match(await shipper.report(saying(/no space left/)), {
      state: 'behind',
      error: /Make room there, or plug a larger one in/,
    });
    stick.makeRoom();
    await copied();
    t.equal(box.copied, await box.stored(), 'full, and then not');

    await remount('ro');
    put(10);
    t.match(await shipper.report(saying(/read-only/)), { state: 'refused' });
    await remount('rw');
    await copied();
    t.equal(box.copied, await box.stored(), 'read-only, and then not');

    for (let pulls = 0; pulls < 5; pulls++) {
      put(2_000);
      const from = shipper.reports.length;
      if (pulls > 0) await shipper.report(({ state }) => state === 'behind', from);
      await pull();
      put(1);
      await shipper.report(saying(/nothing is mounted there/), from);
      t.strictSame(fs.readdirSync(place), [], 'the disk of the box is not written to');
      await plugIn(stick);
      await copied();
      t.equal(box.copied, await box.stored(), 'pulled out, and plugged in again');
    }

    await pull();
    await plugIn(other);
    put(1);
    const begun = shipper.reports.length;
    await copied();
    const said = shipper.stderr + JSON.stringify(shipper.reports);
    t.match(said, /reaches seq 0, and seq \d+ had been copied: it is another one than before/);
    t.ok(begun > 0);
    t.equal(box.copied, await box.stored(), 'another stick has everything');
    await pull();
    await plugIn(stick);
    put(1);
    await copied();
    t.equal(box.copied, await box.stored(), 'the first one again');
    t.equal(await shipper.stop(), 0);
  },
);

t.test(
  'a stick that takes half a second for each sync gets many chunks with one',
  { skip: withoutStrace },
  async (t) => {
    const box = new CopyingBox(t);
    box.put(event());
    const shipper = box.ship();
    await shipper.state('current');
    const file = path.relative(box.root, box.files[0]!);
    const traced = { child: { pid: shipper.pid }, data: box.root } as unknown as Daemon;
    const fault = await Fault.begin(t, traced, { calls: SYNC, effect: 'delay_enter=500000', file });
    const EVENTS = 20_000;
    box.put(...events(EVENTS));
    await shipper.report(({ shipped_seq }) => Number(shipped_seq) > EVENTS);
    t.ok(
      fault.calls <= EVENTS / 4_200,
      `${fault.calls} syncs, and at 4,200 events/s there is time for two a second`,
    );
    await fault.end();
    t.equal(box.copied, await box.stored());
    t.equal(await shipper.stop(), 0);
  },
);

t.test(
  'a copy is written anew after an erasure over kill -9 and on a stick that was full, while events come',
  { skip: withoutMount },
  async (t) => {
    const stick = await SmallDisk.mount(t, 8);
    const box = new CopyingBox(t, stick.folder);
    const played = { type: 'BALL_HIT', eot: '2026-03-14T15:00:00Z' };
    const put = (count: number) =>
      box.put(
        ...Array.from({ length: count }, (_, i) =>
          event({ ...played, payload: { player_id: i % 5 ? `p-${i % 5}` : 'anna-17' }, note: Math.random() }),
        ),
      );
    for (let i = 0; i < 10; i++) put(2_000);
    t.match(await box.once(), { status: 0 });
    const seqsOf = (text: string) => text.match(/^\{"seq":\d+/gm)!;
    const original = path.join(temporaryFolder(t), 'original');
    fs.cpSync(box.copy, original, { recursive: true });
    t.match(await box.command('player', 'erase', 'anna-17', '--yes'), { stdout: /4000 events/ });

    stick.fill();
    const waiting = box.ship();
    t.match(await waiting.report(saying(/cannot be written anew, and until then they name who was erased/)), {
      state: 'behind',
      error: /no space left on device/,
    });
    stick.makeRoom();
    let rewritten = 0;
    for (let kill = 0; kill < 8; kill++) {
      const shipper = kill === 0 ? waiting : box.ship();
      put(100);
      await shipper.report(() => true);
      await sleep(Math.random() * 2_000);
      await shipper.stop('SIGKILL');
      const { copied } = box;
      t.strictSame(seqsOf(copied), seqsOf(await box.stored()).slice(0, seqsOf(copied).length));
      if (!copied.includes('anna-17')) rewritten++;
      else t.strictSame(box.boxFile.erasures, []);
      if (kill === 7) break;
      fs.rmSync(box.copy, { recursive: true });
      fs.cpSync(original, box.copy, { recursive: true });
    }
    t.comment(`${rewritten} of 8 kills came after it was done`);
    t.match(await box.once(), { status: 0 });
    t.equal(box.copied, await box.stored());
    t.notMatch(box.copied, /anna-17/);
    t.equal(box.boxFile.erasures.length, 1);
  },
);
