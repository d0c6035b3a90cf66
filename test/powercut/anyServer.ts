import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { Random } from '../harness/random.ts';
import { Workshop } from '../harness/workshop.ts';
import { Contender } from './contender.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts of a server that is not courtd: `node test/powercut/anyServer.ts NAME CUTS [SEED]`, with a contender of the benchmark
 * (scripts/bench/contender-main.ts). Connections send events on a disk whose every write is logged; then the power is
 * cut at random writes, most of them right behind an answer. After each cut the server starts on what is left,
 * and is asked for every event. Prints `{"cuts", "lost", "dead"}`: the events that it had acknowledged and does not have,
 * at the worst cut, and after how many cuts it did not start.
 */

const MEBIBYTES = 512;
const [CONNECTIONS, REQUESTS, EVENTS] = [8, 400, 5];

/** An answered request, and how many writes there had been by then. */
interface Answered {
  readonly ids: readonly string[];
  readonly at: number;
}

const [name, cuts, seed = '1'] = process.argv.slice(2) as [string, string, string?];
const lacks = missingNeeds();
if (lacks !== undefined) throw new Error(lacks);
const random = new Random(Number(seed));
const workshop = new Workshop('any-server');
const live = makeImage(workshop, MEBIBYTES);
const image = workshop.file('before');
execFileSync('cp', ['--sparse=auto', live, image]);
const disk = await RecordedDisk.start(workshop, live);
const answered = await record(disk);
disk.stop();
process.stdout.write(`${JSON.stringify(await cutAll(disk.log.length(), Number(cuts)))}\n`);
workshop.end();

async function record({ folder, log }: RecordedDisk): Promise<Answered[]> {
  const server = await Contender.start(name, path.join(folder, 'data'));
  // What it made at its first start is no matter here.
  execFileSync('sync', ['-f', folder]);
  const done: Answered[] = [];
  let left = REQUESTS;
  const send = async (connection: number) => {
    while (left-- > 0) {
      const ids = Array.from({ length: EVENTS }, () => hex(24));
      await server.post(ids.map((id) => server.event(id, connection, random.integer(0, 999_999))));
      done.push({ ids, at: log.length() });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => send(i)));
  await server.kill();
  return done;
}

async function cutAll(end: number, count: number): Promise<{ cuts: number; lost: number; dead: number }> {
  const platter = new Platter(image, disk.log);
  const at = () => (random.chance(0.75) ? random.pick(answered).at : random.integer(answered[0]!.at, end));
  const chosen = Array.from({ length: count }, at).sort((a, b) => a - b);
  let [lost, dead] = [0, 0];
  for (const cut of chosen) {
    const file = workshop.file('cut');
    platter.cut(cut, random.pick(IN_FLIGHT), random, file);
    const promised = answered.filter((one) => one.at <= cut).flatMap(({ ids }) => ids);
    const held = await heldAfter(file);
    if (held === undefined) dead++;
    else lost = Math.max(lost, promised.filter((id) => !held.has(id)).length);
  }
  return { cuts: count, lost, dead };
}

/** @returns the ids that the server has after a start on this disk; undefined where it does not start. */
async function heldAfter(file: string): Promise<Set<string> | undefined> {
  const { folder, unmount } = workshop.mount(file, 'after');
  try {
    const server = await Contender.start(name, path.join(folder, 'data'));
    const held = await server.ids();
    await server.kill();
    return held;
  } catch {
    return undefined;
  } finally {
    unmount();
  }
}

function hex(digits: number): string {
  return Array.from({ length: digits }, () => random.integer(0, 15).toString(16)).join('');
}
