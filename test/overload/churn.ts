import { setTimeout as wait } from 'node:timers/promises';
import { say } from '../../src/cli/terminal/output.ts';
import type { Daemon } from '../harness/daemon.ts';
import { Attacker } from './actors.ts';
import { openFiles, residentBytes } from './process.ts';
import type { Result } from './report.ts';

/** Connections that are opened, used and dropped in every rude way, for as long as one likes: nothing may stay. */

const MIB = 1024 ** 2;
/** V8 gives back what it has collected when it likes; a leak of an hour is more than this. */
const GROWTH_MIB = 24;
const SAMPLE_MS = 500;
/** A body that was refused is read on for ten seconds. */
const SETTLED_MS = 15_000;

export async function churn(daemon: Daemon, seconds: number): Promise<Result> {
  say(`Churn for ${seconds} s...`);
  const pid = daemon.child.pid!;
  const filesBefore = openFiles(pid);
  const attacker = await Attacker.start({ target: daemon, name: 'churn' });
  const samples: number[] = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await wait(SAMPLE_MS);
    samples.push(residentBytes(pid) / MIB);
  }
  const answers = await attacker.answers();
  await attacker.stop();
  const quarter = Math.ceil(samples.length / 4);
  // The first quarter warms up.
  const early = median(samples.slice(quarter, 2 * quarter));
  const late = median(samples.slice(-quarter));
  const files = await settled(pid, filesBefore);
  const bars = [
    {
      text: `memory ${early.toFixed(0)}, later ${late.toFixed(0)} MiB`,
      isMet: late - early <= GROWTH_MIB,
    },
    { text: `open files ${filesBefore} before, ${files} after`, isMet: files <= filesBefore },
  ];
  return { title: `churn, ${seconds} s`, bars, answers };
}

/** @returns the open files, once they are as few as before or long enough has been waited for it. */
async function settled(pid: number, wanted: number): Promise<number> {
  const until = performance.now() + SETTLED_MS;
  while (openFiles(pid) > wanted && performance.now() < until) await wait(100);
  return openFiles(pid);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
