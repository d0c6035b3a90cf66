import { setTimeout as wait } from 'node:timers/promises';
import { say } from '../../src/cli/output.ts';
import type { Daemon } from '../../test/daemon.ts';
import { DiskProbe } from '../bench/probe.ts';
import { Attacker, watchCameras } from './actors.ts';
import type { CameraReport } from './camera.ts';
import { forgetPeak, peakBytes, processorS } from './process.ts';
import type { Bar, Result, Seen } from './report.ts';
import type { Tally } from './wire.ts';

/** Cameras when it is quiet, and then beside each attack. */

const TITLES: Readonly<Record<string, string>> = {
  idle: '2,000 idle connections',
  'slow-headers': '1,000 with slow headers',
  'slow-bodies': '2,000 with slow bodies',
  vanishing: 'senders that vanish',
  'large-numbers': '200 x 8 MiB of short numbers',
  'large-digits': '200 x 8 MiB of long numbers',
  'large-objects': '200 x 8 MiB of empty objects',
  'large-invalid': '200 x 8 MiB, invalid',
  'gzip-bombs': '200 with gzip bombs',
  'tiny-chunks': '8 x 1 MiB in chunks of one byte',
  greedy: 'a greedy client, 1,000 connections',
  overload: 'twice saturation, 4 addresses',
};
export const SCENARIOS = Object.keys(TITLES);

const MIB = 1024 ** 2;
const MEMORY_MIB = 300;
const QUIET_TIMES = 5;
const LEAST_BAR_MS = 60;
const THROUGHPUT = 0.8;
const SETTLE_MS = 1_000;
/** What has come is worked off, and bodies that were refused are read on for ten seconds: the next scenario begins without. */
const CALM = { sampleMs: 500, processors: 0.05, withinMs: 20_000 };
const PEAK_S = 4;
const OVERLOAD_ROUNDS = 5;

export async function runScenarios(
  daemon: Daemon,
  seconds: number,
  only?: readonly string[],
): Promise<Result[]> {
  say('Quiet...');
  const quiet = await watch(daemon, 2 * seconds);
  const barMs = Math.max(LEAST_BAR_MS, QUIET_TIMES * quiet.p99Ms);
  const results: Result[] = [{ title: 'quiet', camera: quiet, bars: [], answers: {} }];
  for (const name of SCENARIOS) {
    if (only?.includes(name) === false) continue;
    say(`${TITLES[name]}...`);
    results.push(
      await (name === 'overload' ? overload(daemon, seconds, barMs) : beside(daemon, name, seconds, barMs)),
    );
    await calm(daemon.child.pid!);
  }
  return results;
}

/** Waits until the daemon has nothing left to do. */
async function calm(pid: number): Promise<void> {
  const until = performance.now() + CALM.withinMs;
  for (let before = Number.NEGATIVE_INFINITY; performance.now() < until; ) {
    const now = processorS(pid);
    if (now - before < (CALM.processors * CALM.sampleMs) / 1000) return;
    before = now;
    await wait(CALM.sampleMs);
  }
}

async function beside(daemon: Daemon, name: string, seconds: number, barMs: number): Promise<Result> {
  const pid = daemon.child.pid!;
  forgetPeak(pid);
  const attacker = await Attacker.start({ target: daemon, name });
  const camera = await watch(daemon, seconds);
  const answers = await attacker.answers();
  await attacker.stop();
  const bars = [...cameraBars(camera, barMs), memoryBar(pid)];
  if (name === 'greedy') bars.push(refusedBar(answers));
  return { title: TITLES[name]!, camera, bars, answers };
}

/** And what the disk takes meanwhile, which is not courtd's doing. */
async function watch(daemon: Daemon, seconds: number): Promise<Seen> {
  const disk = new DiskProbe(daemon.data);
  const camera = await watchCameras(daemon, seconds);
  return { ...camera, diskMs: await disk.end() };
}

/** What it does at its best, and then with twice as much asked of it; in turns, because a machine has slow seconds. */
async function overload(daemon: Daemon, seconds: number, barMs: number): Promise<Result> {
  const pid = daemon.child.pid!;
  forgetPeak(pid);
  const rounds: Round[] = [];
  while (rounds.length < OVERLOAD_ROUNDS) {
    const { perSecond: peak } = await throughput(daemon, 'saturation');
    const attacker = await Attacker.start({ target: daemon, name: 'overload', perSecond: 2 * peak });
    await attacker.answers();
    const startedAt = performance.now();
    const camera = await watch(daemon, seconds);
    const answers = await attacker.answers();
    const tookS = (performance.now() - startedAt) / 1000;
    await attacker.stop();
    rounds.push({ camera, answers, peak, stored: (answers['202'] ?? 0) / tookS });
  }
  const { camera, answers, peak, stored } = middle(rounds, (round) => round.stored / round.peak);
  const ratios = rounds.map((round) => (round.stored / round.peak).toFixed(2));
  const bars = [
    ...cameraBars(camera, barMs),
    memoryBar(pid),
    {
      text: `${Math.round(stored)}/s of ${Math.round(peak)}/s at the peak (${ratios.join(', ')}: the middle one counts)`,
      isMet: stored / peak >= THROUGHPUT,
    },
  ];
  return { title: TITLES.overload!, camera, bars, answers };
}

/** One of the turns of `overload`: what was stored in a second at the peak, and with twice as much asked for. */
interface Round {
  readonly camera: Seen;
  readonly answers: Tally;
  readonly peak: number;
  readonly stored: number;
}

function middle<Item>(items: readonly Item[], by: (item: Item) => number): Item {
  return items.toSorted((a, b) => by(a) - by(b))[Math.floor(items.length / 2)]!;
}

async function throughput(daemon: Daemon, name: string): Promise<{ perSecond: number }> {
  const attacker = await Attacker.start({ target: daemon, name });
  await wait(SETTLE_MS);
  await attacker.answers();
  const startedAt = performance.now();
  await wait(PEAK_S * 1000);
  const answers = await attacker.answers();
  const tookS = (performance.now() - startedAt) / 1000;
  await attacker.stop();
  return { perSecond: (answers['202'] ?? 0) / tookS };
}

function cameraBars({ p99Ms, answers }: CameraReport, barMs: number): Bar[] {
  const others = Object.keys(answers).filter((what) => what !== '202');
  return [
    { text: `p99 ${p99Ms.toFixed(0)} of ${barMs.toFixed(0)} ms`, isMet: p99Ms <= barMs },
    ...(others.length > 0 ? [{ text: 'nothing but 202', isMet: false }] : []),
  ];
}

function memoryBar(pid: number): Bar {
  const mib = peakBytes(pid) / MIB;
  return { text: `${mib.toFixed(0)} of ${MEMORY_MIB} MiB`, isMet: mib <= MEMORY_MIB };
}

/** It is told so, and is the one who is. */
function refusedBar(answers: Tally): Bar {
  const refused = (answers['503'] ?? 0) + (answers['429'] ?? 0);
  return { text: `${refused} refused`, isMet: refused > 0 };
}
