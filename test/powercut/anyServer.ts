import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Random } from '../../src/vendor/simulate/random.ts';
import { Workshop } from '../harness/workshop.ts';
import { Contender } from './contender.ts';
import { makeImage, RecordedDisk } from './disk.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';

/**
 * Power cuts of a server that is not courtd: `node test/powercut/anyServer.ts NAME CUTS [SEED]`, with a contender of the benchmark
 * (scripts/bench/contender-main.ts). Connections send events on a disk whose every write is logged; then the power is
 * cut at random writes, most of them right behind an answer. After each cut the server starts on what is left,
 * and is asked for every event. Prints `{"cuts", "lost", "repaired", "dead"}`: the events that it had acknowledged and does not
 * have, at the worst cut; after how many cuts it started only when it had been repaired as its manual says, and after how many
 * not even then. Prints `{"lacks"}`, with what is missing for it, where something is; without a NAME it does nothing else.
 */

const MEBIBYTES = 512;
const [CONNECTIONS, REQUESTS, EVENTS] = [8, 400, 5];
/** Servers that start at a time, each on its own disk: most of it is waiting. */
const AT_ONCE = 4;

/** An answered request, and how many writes there had been by then. */
interface Answered {
  readonly ids: readonly string[];
  readonly at: number;
}

const [name, cuts, seed = '1'] = process.argv.slice(2) as [string?, string?, string?];
const lacks = missingNeeds();
if (lacks !== undefined || name === undefined) {
  process.stdout.write(`${JSON.stringify({ lacks })}\n`);
  process.exit(0);
}
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
  const server = await Contender.start(name!, path.join(folder, 'data'));
  const done: Answered[] = [];
  const sendOne = async (connection: number) => {
    const ids = Array.from({ length: EVENTS }, () => hex(24));
    await server.post(ids.map((id) => server.event(id, connection, random.integer(0, 999_999))));
    done.push({ ids, at: log.length() });
  };
  await sendOne(0);
  // What it made at its first start and for its first event is no matter here.
  execFileSync('sync', ['-f', folder]);
  let left = REQUESTS;
  const send = async (connection: number) => {
    while (left-- > 0) await sendOne(connection);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => send(i)));
  await server.kill();
  return done;
}

interface Found {
  readonly cuts: number;
  lost: number;
  repaired: number;
  dead: number;
}

async function cutAll(end: number, count: number): Promise<Found> {
  const platter = new Platter(image, disk.log);
  const at = () => (random.chance(0.75) ? random.pick(answered).at : random.integer(answered[0]!.at, end));
  const chosen = Array.from({ length: count }, at).sort((a, b) => a - b);
  const found: Found = { cuts: count, lost: 0, repaired: 0, dead: 0 };
  let next = 0;
  const check = async () => {
    while (next < count) {
      const number = next++;
      const cut = chosen[number]!;
      const file = workshop.file(`cut-${number}`);
      platter.cut(cut, random.pick(IN_FLIGHT), random, file);
      const { held, isRepaired } = await heldAfter(file, `after-${number}`);
      fs.rmSync(file);
      if (isRepaired) found.repaired++;
      if (held === undefined) found.dead++;
      const promised = answered.filter((one) => one.at <= cut).flatMap(({ ids }) => ids);
      found.lost = Math.max(
        found.lost,
        held === undefined ? 0 : promised.filter((id) => !held.has(id)).length,
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, check));
  return found;
}

/** @returns the ids that the server has after a start on this disk; undefined where it does not start. */
async function heldAfter(
  file: string,
  mount: string,
): Promise<{ readonly held: Set<string> | undefined; readonly isRepaired: boolean }> {
  const { folder, unmount } = workshop.mount(file, mount);
  const data = path.join(folder, 'data');
  try {
    const asItIs = await idsIn(data);
    const held = asItIs ?? (await idsIn(data, 'repair'));
    return { held, isRepaired: asItIs === undefined && held !== undefined };
  } finally {
    unmount();
  }
}

async function idsIn(data: string, repair?: 'repair'): Promise<Set<string> | undefined> {
  try {
    const server = await Contender.start(name!, data, repair);
    const held = await server.ids();
    await server.kill();
    return held;
  } catch (error) {
    console.error(`${error}`);
    return undefined;
  }
}

function hex(digits: number): string {
  return Array.from({ length: digits }, () => random.integer(0, 15).toString(16)).join('');
}
