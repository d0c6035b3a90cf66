import { setTimeout as wait } from 'node:timers/promises';
import { say } from '../../src/cli/terminal/output.ts';
import { Attacker, watchCameras } from './actors.ts';
import type { Box } from './box.ts';
import type { CameraReport } from './camera.ts';
import { PeakMemory, processorS } from './process.ts';
import type { Bar, Result } from './report.ts';
import type { Tally } from './wire.ts';

/** Cameras when it is quiet, and then beside each attack. */

interface Scenario {
  readonly title: string;
  /** What it takes longer than others to show. */
  readonly leastSeconds?: number;
}

const TABLE: Readonly<Record<string, Scenario>> = {
  idle: { title: '2,000 idle connections' },
  'slow-headers': { title: '1,000 with slow headers' },
  'slow-bodies': { title: '1,500 with slow bodies' },
  vanishing: { title: 'senders that vanish' },
  'large-numbers': { title: '200 x 6 MiB of numbers' },
  'large-digits': { title: '200 x 6 MiB of long numbers' },
  'large-many': { title: '200 x 6 MiB of too many numbers' },
  'large-objects': { title: '200 with 249,000 empty objects' },
  'large-invalid': { title: '200 x 6 MiB, invalid' },
  'large-strangers': { title: '200 x 6 MiB without a token' },
  'gzip-bombs': { title: '200 with gzip bombs' },
  'tiny-chunks': { title: '8 x 1 MiB in chunks of one byte' },
  greedy: { title: 'a greedy client, 1,000 connections' },
  'unread-then-zeros': { title: 'no token: requests, their answers not read, then zeros', leastSeconds: 20 },
  'unread-answers': { title: 'no token: 70 senders of requests, their answers not read', leastSeconds: 20 },
  'unread-404': { title: '70 senders of authenticated 404s, not read', leastSeconds: 20 },
  'pipelining-strangers': { title: 'no token: 8 connections pipeline without end' },
  'reconnecting-strangers': { title: 'no token: 8 x 64 KiB of requests, each on a new connection' },
  'many-fields': { title: 'no token: 8,000 unfinished heads of 985 fields', leastSeconds: 15 },
  'all-connections': { title: 'no token: 8,192 connections from one address' },
  overload: { title: 'twice saturation, 4 addresses' },
};
export const SCENARIOS = Object.keys(TABLE);

const MIB = 1024 ** 2;
/** What nobody on the network may raise its memory above. */
const MEMORY_MIB = 384;
/** What a camera gets where the machine is too slow: told to come again, or nothing so far. */
const LATE: readonly string[] = ['503', 'none'];
const SETTLE_MS = 1_000;
/** What has come is worked off, and bodies that were refused are read on for ten seconds: the next scenario begins without. */
const CALM = { sampleMs: 500, processors: 0.05, withinMs: 20_000 };
const PEAK_S = 4;

export async function runScenarios(box: Box, seconds: number, only?: readonly string[]): Promise<Result[]> {
  say('Quiet...');
  const quiet = await watchCameras(box.daemon, 2 * seconds);
  const results: Result[] = [{ title: 'quiet', camera: quiet, bars: [], answers: {} }];
  for (const name of SCENARIOS) {
    if (only?.includes(name) === false) continue;
    const { title, leastSeconds = 0 } = TABLE[name]!;
    say(`${title}...`);
    const forSeconds = Math.max(seconds, leastSeconds);
    results.push(await beside(box, name, forSeconds));
    await box.revive();
    await calm(box.pid);
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

async function beside(box: Box, name: string, seconds: number): Promise<Result> {
  const memory = new PeakMemory(box.pid);
  const perSecond = name === 'overload' ? 2 * (await saturation(box)) : 0;
  const attacker = await Attacker.start({ target: box.daemon, name, perSecond });
  const camera = await watchCameras(box.daemon, seconds);
  const answers = await attacker.answers();
  await attacker.stop();
  const bars = [...aliveBars(box), ...cameraBars(camera), memoryBar(memory)];
  if (name === 'greedy') bars.push(refusedBar(answers));
  return { title: TABLE[name]!.title, camera, bars, answers };
}

/** @returns the events stored in a second. */
async function saturation({ daemon }: Box): Promise<number> {
  const attacker = await Attacker.start({ target: daemon, name: 'saturation' });
  await wait(SETTLE_MS);
  await attacker.answers();
  const startedAt = performance.now();
  await wait(PEAK_S * 1000);
  const answers = await attacker.answers();
  const tookS = (performance.now() - startedAt) / 1000;
  await attacker.stop();
  return (answers['202'] ?? 0) / tookS;
}

function aliveBars({ death }: Box): Bar[] {
  return death === undefined ? [] : [{ text: `the daemon ended with ${death}`, isMet: false }];
}

function cameraBars({ answers }: CameraReport): Bar[] {
  const wrong = Object.keys(answers).filter((what) => what !== '202' && !LATE.includes(what));
  return wrong.length === 0 ? [] : [{ text: `a camera got ${wrong.join(', ')}`, isMet: false }];
}

function memoryBar(memory: PeakMemory): Bar {
  const mib = memory.end() / MIB;
  return { text: `${mib.toFixed(0)} of ${MEMORY_MIB} MiB`, isMet: mib <= MEMORY_MIB };
}

/** It is told so, or what it has too many of is closed; and it is the one who is. */
function refusedBar(answers: Tally): Bar {
  const refused = (answers['503'] ?? 0) + (answers['429'] ?? 0) + (answers.lost ?? 0);
  return { text: `${refused} refused`, isMet: refused > 0 };
}
