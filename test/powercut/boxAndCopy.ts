import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findCopy } from '../../src/fleet/copy/copyFiles.ts';
import { readEpoch } from '../../src/fleet/copy/readCopy.ts';
import { seqOf } from '../../src/fleet/log/chunk.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { CopyingBox } from '../fleet/ship/copied.ts';
import { Daemon } from '../harness/daemon.ts';
import { Endings } from '../harness/endings.ts';
import { events } from '../harness/events.ts';
import { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { SERVE } from './opened.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts of a box and of the stick that it copies to, in the same moment: `node test/powercut/boxAndCopy.ts [--cuts 40] [--seed 1]`.
 * Events come while a shipper copies them, is killed, and begins an epoch; every write to both disks is logged. After each cut the
 * copy has all that was reported as copied, no hole, and nothing that the box has not; and the shipper makes it whole again. Exit
 * status 1 where anything is not.
 */

const MEBIBYTES = 96;
const [EVENTS, REQUEST_EVENTS] = [20_000, 60];
/** How far the cameras are ahead of the copy, at most. */
const [AHEAD_EVENTS, POLL_MS] = [1_200, 5];
/** Of the events, when the shipper is killed, and when it gets a new epoch. */
const [KILLS, NEW_EPOCH] = [[0.2, 0.4, 0.75], 0.6] as const;

const { values } = parseArgs({
  options: { cuts: { type: 'string', default: '40' }, seed: { type: 'string', default: '1' } },
});
const lacks = missingNeeds();
if (lacks !== undefined) throw new Error(lacks);
const random = new Random(Number(values.seed));

/** A disk that is recorded, and what it was before. */
async function recorded(name: string) {
  const workshop = new Workshop(name);
  const live = makeImage(workshop, MEBIBYTES);
  const image = workshop.file('before');
  execFileSync('cp', ['--sparse=auto', live, image]);
  return { workshop, image, disk: await RecordedDisk.start(workshop, live) };
}

/** Writes to the stick and to the box by some moment, and what had been acknowledged and copied by then. */
interface Moment {
  readonly stick: number;
  readonly box: number;
  readonly copied: number;
  readonly acknowledged: number;
}

await using endings = new Endings();
const [stick, home] = [await recorded('copy-stick'), await recorded('copy-box')];
const moments: Moment[] = [];
let [copied, acknowledged] = [0, 0];
const note = () => {
  // The box's last: it is never earlier than the stick, which only has what the box had.
  const at = stick.disk.log.length();
  moments.push({ stick: at, box: home.disk.log.length(), copied, acknowledged });
};

const daemon = await Daemon.start(endings, SERVE, path.join(home.disk.folder, 'data'));
const live = new CopyingBox(endings, stick.disk.folder, daemon.data);
const send = (async () => {
  while (acknowledged < EVENTS) {
    const { status } = await daemon.post(events(REQUEST_EVENTS));
    // In many writes to the stick instead of few.
    while (acknowledged - copied > AHEAD_EVENTS) await sleep(POLL_MS);
    if (status === 202) acknowledged += REQUEST_EVENTS;
    note();
  }
})();
for (const share of [...KILLS, NEW_EPOCH, 1].sort()) {
  const shipper = live.ship();
  for (let seen = 0; copied < share * EVENTS; seen++) {
    const report = await shipper.report(() => true, seen);
    copied = Math.max(copied, Number(report.shipped_seq ?? 0));
    note();
  }
  await shipper.stop(share < 1 && share !== NEW_EPOCH ? 'SIGKILL' : 'SIGTERM');
  if (share === NEW_EPOCH) await live.command('ship', 'epoch', '--new');
}
await send;
await daemon.stop();
note();
for (const { disk } of [stick, home]) disk.stop();

/** Right at a moment; or, while the stick is written to, at any write between two, when the box is not later than at the second. */
function chooseCut(): Moment {
  const at = random.integer(0, moments.length - 2);
  const [moment, next] = [moments[at]!, moments[at + 1]!];
  if (random.chance(0.5)) return moment;
  return { ...moment, stick: random.integer(moment.stick, next.stick), box: next.box };
}
const chosen = Array.from({ length: Number(values.cuts) }, chooseCut).sort(
  (a, b) => a.stick - b.stick || a.box - b.box,
);
const platters = {
  stick: new Platter(stick.image, stick.disk.log),
  box: new Platter(home.image, home.disk.log),
};
const seen = { torn: 0, inFlight: 0 };
const faults: string[] = [];
for (const cut of chosen) {
  const files = [stick.workshop.file('cut'), home.workshop.file('cut')] as const;
  if (platters.stick.cut(cut.stick, random.pick(IN_FLIGHT), random, files[0]) > 0) seen.inFlight++;
  platters.box.cut(cut.box, random.pick(IN_FLIGHT), random, files[1]);
  for (const fault of await faultsAfter(...files, cut))
    faults.push(`stick cut after write ${cut.stick}, box after ${cut.box}: ${fault}`);
}
const writes = stick.disk.log.entries.length;
for (const fault of faults.slice(0, 10)) console.log(fault);
console.log(
  `box and copy: ${chosen.length} power cuts: ${faults.length} faults; ${JSON.stringify({ ...seen, writes })}`,
);
for (const { workshop } of [stick, home]) workshop.end();
process.exitCode = faults.length > 0 ? 1 : 0;

async function faultsAfter(stickImage: string, boxImage: string, cut: Moment): Promise<string[]> {
  const found: string[] = [];
  const [root, own] = [stick.workshop.mount(stickImage, 'after'), home.workshop.mount(boxImage, 'after')];
  try {
    const box = new CopyingBox(endings, root.folder, path.join(own.folder, 'data'));
    const stored = await box.stored();
    const lines = new Map(stored.split(/(?<=\n)/).map((line) => [seqOf(line), line]));
    if (lines.size < cut.acknowledged) found.push(`the box has ${lines.size} of ${cut.acknowledged}`);
    const last = await read(box.copy, lines, found);
    if (last < cut.copied) found.push(`it reaches seq ${last}, and ${cut.copied} had been reported`);
    const { status, stderr } = await box.once();
    if (status !== 0) found.push(`the shipper ended with ${status}: ${stderr}`);
    else if (box.copied !== stored) found.push('afterwards the copy is not what the box has');
  } catch (error) {
    found.push(`${(error as Error).stack}`);
  } finally {
    root.unmount();
    own.unmount();
  }
  return found;
}

/** @returns the last seq of a copy. */
async function read(folder: string, lines: ReadonlyMap<number, string>, found: string[]): Promise<number> {
  let last = 0;
  const { epochs } = await findCopy([folder]).catch(() => ({ epochs: [] }));
  for (const epoch of epochs) {
    for await (const chunk of readEpoch(epoch, () => seen.torn++)) {
      if (chunk.hole !== undefined) found.push(chunk.hole);
      if (chunk.lines.some((line) => lines.get(seqOf(line)) !== line))
        found.push('it has what the box has not');
      if (seqOf(chunk.lines[0]!) <= last) found.push(`it has seq ${last} twice`);
      last = chunk.last;
    }
  }
  return last;
}
