import { say } from '../../src/cli/terminal/output.ts';
import { atMost } from './bars.ts';
import { runCameras, type Shift, type ShiftOutcome } from './clients/cameras.ts';
import { courtd } from './courtd.ts';
import type { Ground } from './ground.ts';
import type { Section } from './section.ts';

/** The biggest venue. */

export const VENUE: Omit<Shift, 'target' | 'seconds' | 'run'> = {
  cameras: 100,
  eventsPerS: 4_200,
  mostEvents: 20,
};
const WARM_UP_S = 3;
/** Above this, the cameras themselves did not get enough CPU time. */
const LATE_MS = 5;

export const venue: Section = {
  name: 'venue',
  async run(ground) {
    const alone = await work(ground, ground.empty('venue'));
    return [
      atMost('The biggest venue: p99', alone.p99Ms, 25, 'ms'),
      atMost('The biggest venue: the slowest answer', alone.maxMs, 100, 'ms'),
      atMost('The biggest venue: share of a core', alone.cpuShare * 100, 50, '%'),
    ];
  },
};

async function work(
  ground: Ground,
  directory: string,
): Promise<ShiftOutcome & { readonly cpuShare: number }> {
  const { child, target } = await courtd.start(directory);
  const seconds = ground.options.venueSeconds;
  await ground.settle();
  await runCameras({ ...VENUE, target, seconds: WARM_UP_S, run: `warm-${process.hrtime.bigint()}` });
  const before = child.cpuSeconds();
  const outcome = await runCameras({ ...VENUE, target, seconds, run: `venue-${process.hrtime.bigint()}` });
  const cpuShare = (child.cpuSeconds() - before) / seconds;
  ground.notePeak(child.peakBytes());
  await child.stop();
  const { failures, p50Ms, p99Ms, maxMs, lateMs } = outcome;
  if (failures > 0) throw new Error(`The biggest venue: ${failures} requests failed.`);
  say(
    `The venue: p50 ${p50Ms} ms, p99 ${p99Ms} ms, most ${maxMs} ms, ${(cpuShare * 100).toFixed(0)} % of a core.`,
  );
  if (lateMs > LATE_MS) {
    say(`This machine was busy: the cameras themselves were up to ${lateMs} ms late.`);
  }
  return { ...outcome, cpuShare };
}
