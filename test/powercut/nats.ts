import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { makeStreams } from '../../src/fleet/init.ts';
import { readStream } from '../../src/fleet/readStream.ts';
import { chunkHead } from '../../src/nats/fleetLog.ts';
import { NatsServers } from '../harness/nats.ts';
import { Random } from '../harness/random.ts';
import { SimulatedBox } from '../harness/simulatedBox.ts';
import { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts of headquarters, all of its servers at once: `node test/powercut/nats.ts [--servers 3] [--sync always] [--cuts 20]
 * [--seed 1]`. Boxes ship to servers on a disk whose every write is logged; then the power is cut at random writes, most of them
 * right behind an acknowledgement. After each cut the servers start on what is left. Prints `{"cuts", "lost", "dead"}`: the events
 * that were acknowledged and are not there, at the worst cut, and after how many cuts the servers did not come up.
 */

const MEBIBYTES = 1024;
const [BOXES, CHUNKS, EVENTS] = [4, 40, 5];

const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '3' },
    sync: { type: 'string', default: 'always' },
    cuts: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
});
const lacks = missingNeeds();
if (lacks !== undefined) throw new Error(lacks);
const servers = values.servers === '1' ? 1 : 3;
const random = new Random(Number(values.seed));
const workshop = new Workshop('nats');
const live = makeImage(workshop, MEBIBYTES);
const image = workshop.file('before');
execFileSync('cp', ['--sparse=auto', live, image]);
const disk = await RecordedDisk.start(workshop, live);

/** A chunk that was acknowledged, and how many writes there had been by then. */
interface Answered {
  readonly box: string;
  readonly last: number;
  readonly at: number;
}

/** Runs servers in a folder, and kills them. */
async function withServers<Result>(
  folder: string,
  work: (nc: NatsConnection) => Promise<Result>,
): Promise<Result> {
  const ends: (() => unknown)[] = [];
  const cleanup = { teardown: (end: () => unknown) => void ends.push(end) };
  try {
    const started = await NatsServers.start(cleanup, {
      servers,
      syncInterval: values.sync,
      folder: path.join(folder, 'nats'),
    });
    const nc = await connect({ servers: started.servers.map(({ port }) => `127.0.0.1:${port}`) });
    ends.push(() => nc.close());
    return await work(nc);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

const answered: Answered[] = [];
await withServers(disk.folder, async (nc) => {
  await makeStreams(nc, servers, () => {});
  // How they are made is no matter here.
  execFileSync('sync', ['-f', disk.folder]);
  const ship = async (number: number) => {
    const box = new SimulatedBox(nc, `venue-${number}`);
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      await box.ship(EVENTS);
      answered.push({ box: box.box, last: box.last, at: disk.log.length() });
    }
  };
  await Promise.all(Array.from({ length: BOXES }, (_, i) => ship(i)));
});
const end = disk.log.length();
disk.stop();

const platter = new Platter(image, disk.log);
const at = () => (random.chance(0.75) ? random.pick(answered).at : random.integer(answered[0]!.at, end));
const chosen = Array.from({ length: Number(values.cuts) }, at).sort((a, b) => a - b);
let [lost, dead] = [0, 0];
for (const cut of chosen) {
  const file = workshop.file('cut');
  platter.cut(cut, random.pick(IN_FLIGHT), random, file);
  const promised = new Map(answered.filter((one) => one.at <= cut).map(({ box, last }) => [box, last]));
  const held = await heldAfter(file);
  if (held === undefined) dead++;
  else {
    let missing = 0;
    for (const [box, last] of promised) missing += Math.max(0, last - (held.get(box) ?? 0));
    lost = Math.max(lost, missing);
  }
}
process.stdout.write(`${JSON.stringify({ cuts: chosen.length, lost, dead })}\n`);
workshop.end();

/** @returns the last seq of each box that headquarters has after a start; undefined where it does not come up. */
async function heldAfter(file: string): Promise<Map<string, number> | undefined> {
  const { folder, unmount } = workshop.mount(file, 'after');
  try {
    return await withServers(folder, async (nc) => {
      const held = new Map<string, number>();
      for await (const { subject, headers } of readStream(nc, { stream: 'FLEET', headersOnly: true })) {
        held.set(subject.split('.')[2]!, chunkHead(headers)?.last ?? 0);
      }
      return held;
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return undefined;
  } finally {
    unmount();
  }
}
