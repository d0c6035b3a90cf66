import { say } from '../../src/cli/terminal/output.ts';
import { atMost, type Verdict } from './bars.ts';
import { runCameras, type Shift, type ShiftOutcome } from './clients/cameras.ts';
import { courtd } from './courtd.ts';
import type { Ground } from './ground.ts';
import { type Neighbour, neighbours } from './neighbours.ts';
import { DiskProbe } from './probe.ts';
import type { Section } from './section.ts';

/** The biggest venue, alone and while other programs read the database. */

export const VENUE: Omit<Shift, 'target' | 'seconds' | 'run'> = {
  cameras: 100,
  eventsPerS: 4_200,
  mostEvents: 20,
};
const WARM_UP_S = 3;
/** Above this, the cameras themselves did not get enough CPU time. */
const LATE_MS = 5;
const SLOW_DISK_MS = 20;

export const venue: Section = {
  name: 'venue',
  async run(ground) {
    const alone = await work(ground, ground.empty('venue'));
    const verdicts = [
      atMost('The biggest venue: p99', alone.p99Ms, 25, 'ms'),
      atMost('The biggest venue: the slowest answer', alone.maxMs, 100, 'ms'),
      atMost('The biggest venue: share of a core', alone.cpuShare * 100, 50, '%'),
    ];
    const { directory, session } = await ground.million('venue-beside');
    for (const neighbour of neighbours(directory, session))
      verdicts.push(await beside(ground, directory, neighbour));
    return verdicts;
  },
};

async function beside(ground: Ground, directory: string, neighbour: Neighbour): Promise<Verdict> {
  neighbour.begin();
  const seen = await work(ground, directory);
  const times = await neighbour.end();
  say(`Meanwhile ${neighbour.title}: ${times} times.`);
  return atMost(`The biggest venue while ${neighbour.title}: p99`, seen.p99Ms, 50, 'ms');
}

async function work(
  ground: Ground,
  directory: string,
): Promise<ShiftOutcome & { readonly cpuShare: number }> {
  const { child, target } = await courtd.start(directory);
  const seconds = ground.options.venueSeconds;
  await ground.settle();
  await runCameras({ ...VENUE, target, seconds: WARM_UP_S, run: `warm-${process.hrtime.bigint()}` });
  const before = child.cpuSeconds();
  const disk = new DiskProbe(ground.directory);
  const outcome = await runCameras({ ...VENUE, target, seconds, run: `venue-${process.hrtime.bigint()}` });
  const diskMs = await disk.end();
  const cpuShare = (child.cpuSeconds() - before) / seconds;
  ground.notePeak(child.peakBytes());
  await child.stop();
  const { failures, p50Ms, p99Ms, maxMs, lateMs } = outcome;
  if (failures > 0) throw new Error(`The biggest venue: ${failures} requests failed.`);
  say(
    `The venue: p50 ${p50Ms} ms, p99 ${p99Ms} ms, most ${maxMs} ms, ${(cpuShare * 100).toFixed(0)} % of a core.`,
  );
  if (lateMs > LATE_MS || diskMs > SLOW_DISK_MS) {
    say(
      `This machine was busy: the cameras themselves were up to ${lateMs} ms late, and the disk took up to ${Math.round(diskMs)} ms to sync another file.`,
    );
  }
  return { ...outcome, cpuShare };
}
