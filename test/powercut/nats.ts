import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Chains } from '../../src/fleet/headquarters/chain.ts';
import { makeStreams } from '../../src/fleet/headquarters/init.ts';
import { readStream } from '../../src/fleet/headquarters/readStream.ts';
import { chunkHead, sourceOf } from '../../src/fleet/nats/fleetLog.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { Endings } from '../harness/endings.ts';
import { NatsServers } from '../harness/nats.ts';
import { SimulatedBox } from '../harness/simulatedBox.ts';
import { Workshop } from '../harness/workshop.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts of headquarters, all of its servers at once: `node test/powercut/nats.ts [--servers 3] [--sync always] [--cuts 20]
 * [--seed 1]`. Boxes ship to servers on a disk whose every write is logged; then the power is cut at random writes: right behind
 * an acknowledgement, or while three servers snapshot the stream and compact their Raft logs, which they do every 8 MiB. After each
 * cut the servers start on what is left. Prints, as JSON:
 *
 * - `cuts`, and `dead`: after how many of them the servers did not come up.
 * - `lost`: the events that were acknowledged and are not there, at the worst cut. `broken`: places where a chain is not whole.
 * - `late`: after how many cuts the servers gave what they had only after a while.
 * - `snapshots` that were made while the boxes shipped, and `inside`: cuts that left one unfinished, on some server.
 */

const MEBIBYTES = 1024;
const [BOXES, CHUNKS, EVENTS] = [4, 40, 5];
/** Of an event, before it is packed: it cannot be packed much. With three servers a log of 8 MiB comes every 35 chunks. */
const NOISE_BYTES = 48 * 1024;
/** For a server to apply what it has. */
const [APPLIED_MS, LOOK_MS] = [30_000, 500];
/** Writes around a snapshot where the power is cut: it is noticed when it has been made. */
const CLOSE = { before: 60, behind: 20 } as const;

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
  await using endings = new Endings();
  const started = await NatsServers.start(endings, {
    servers,
    syncInterval: values.sync,
    folder: path.join(folder, 'nats'),
  });
  const nc = await connect({ servers: started.servers.map(({ port }) => `127.0.0.1:${port}`) });
  endings.teardown(() => nc.close());
  return await work(nc);
}

const answered: Answered[] = [];
/** How many writes there had been when a snapshot was seen. */
const snapshots: number[] = [];
await withServers(disk.folder, async (nc) => {
  await makeStreams(nc, servers, () => {});
  // How they are made is no matter here.
  execFileSync('sync', ['-f', disk.folder]);
  const watchers = snapshotFolders(disk.folder).map((folder) =>
    fs.watch(folder, (_event, file) => {
      if (file?.endsWith('.tmp') === false) snapshots.push(disk.log.length());
    }),
  );
  const ship = async (number: number) => {
    const box = new SimulatedBox(nc, `venue-${number}`);
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      await box.ship(EVENTS, { payload: { noise: randomBytes(NOISE_BYTES).toString('base64') } });
      answered.push({ box: box.box, last: box.last, at: disk.log.length() });
    }
  };
  await Promise.all(Array.from({ length: BOXES }, (_, i) => ship(i)));
  for (const watcher of watchers) watcher.close();
});
const end = disk.log.length();
disk.stop();

const platter = new Platter(image, disk.log);
/** A write: of every eight cuts four are around a snapshot, three right behind an answer, and one is anywhere. */
function chooseCut(): number {
  if (snapshots.length > 0 && random.chance(0.5)) {
    return Math.min(end, random.pick(snapshots) + random.integer(-CLOSE.before, CLOSE.behind));
  }
  return random.chance(0.75) ? random.pick(answered).at : random.integer(answered[0]!.at, end);
}
const chosen = Array.from({ length: Number(values.cuts) }, chooseCut).sort((a, b) => a - b);
const seen = { lost: 0, dead: 0, broken: 0, late: 0, inside: 0 };
for (const cut of chosen) {
  const file = workshop.file('cut');
  platter.cut(cut, random.pick(IN_FLIGHT), random, file);
  const promised = new Map(answered.filter((one) => one.at <= cut).map(({ box, last }) => [box, last]));
  const missing = await missingAfter(file, promised);
  if (missing === undefined) seen.dead++;
  else seen.lost = Math.max(seen.lost, missing);
}
process.stdout.write(`${JSON.stringify({ cuts: chosen.length, ...seen, snapshots: snapshots.length })}\n`);
workshop.end();

/** @returns how many of the promised events headquarters has not after a start; undefined where it does not come up. */
async function missingAfter(
  file: string,
  promised: ReadonlyMap<string, number>,
): Promise<number | undefined> {
  const { folder, unmount } = workshop.mount(file, 'after');
  try {
    if (isInSnapshot(folder)) seen.inside++;
    return await withServers(folder, async (nc) => {
      // A server that has just started may give less than it has, until it has applied its Raft log.
      let isLate = false;
      for (const giveUpAt = performance.now() + APPLIED_MS; ; await sleep(LOOK_MS)) {
        const { held, breaks } = await readLog(nc);
        let missing = 0;
        for (const [box, last] of promised) missing += Math.max(0, last - (held.get(box) ?? 0));
        if (missing > 0 && performance.now() < giveUpAt) {
          isLate = true;
          continue;
        }
        seen.broken += breaks;
        if (isLate && missing === 0) seen.late++;
        return missing;
      }
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return undefined;
  } finally {
    unmount();
  }
}

/** @returns the last seq of each box, and how many places of their chains are not whole. */
async function readLog(nc: NatsConnection): Promise<{ held: Map<string, number>; breaks: number }> {
  const held = new Map<string, number>();
  const chains = new Chains(false);
  let breaks = 0;
  for await (const { subject, seq, headers, data } of readStream(nc, { stream: 'FLEET' })) {
    const head = chunkHead(headers);
    breaks += chains.add(sourceOf(subject), seq, head, data).length;
    held.set(sourceOf(subject).box, head?.last ?? 0);
  }
  return { held, breaks };
}

/** @returns where the servers keep the snapshots of their streams. */
function snapshotFolders(folder: string): string[] {
  const all = fs.globSync('nats/*/*/store/jetstream/$SYS/_js_/S-*/snapshots', { cwd: folder });
  return all.map((one) => path.join(folder, one));
}

/** Whether a server was at a snapshot of a stream: the new one has no name yet, or the one before it is still there. */
function isInSnapshot(folder: string): boolean {
  const files = snapshotFolders(folder).map((one) => fs.readdirSync(one));
  return files.some((names) => names.length > 1 || names.some((name) => name.endsWith('.tmp')));
}
