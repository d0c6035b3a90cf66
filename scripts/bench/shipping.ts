import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../../src/cli/terminal/output.ts';
import { atLeast, type Verdict } from './bars.ts';
import { Child } from './child.ts';
import { runCameras } from './clients/cameras.ts';
import type { Running } from './contender.ts';
import { COURTD, courtd } from './courtd.ts';
import type { Ground } from './ground.ts';
import { Headquarters } from './headquarters.ts';
import { median } from './measure.ts';
import type { Section } from './section.ts';
import { VENUE } from './venue.ts';

/** The biggest venue without a shipper, and beside one that catches up with a million events: in turns, on the same box. */

const LEAST_RATE = 0.95;
const MOST = 1.05;
const STARTED_MS = 2_000;

interface Run {
  readonly eventsPerS: number;
  readonly p99Ms: number;
  /** Of one core: the daemon, and the shipper. */
  readonly cpu: number;
  readonly shipperCpu: number;
  readonly shippedPerS: number;
}

interface Shipped {
  readonly directory: string;
  readonly headquarters: Headquarters;
}

let boxes = 0;

export const shipping: Section = {
  name: 'ship',
  async run(ground, show) {
    const { directory } = await ground.million('ship');
    const running = await courtd.start(directory);
    const headquarters = await Headquarters.start();
    const [alone, beside]: [Run[], Run[]] = [[], []];
    const { rounds } = ground.options;
    try {
      for (let round = 0; round <= rounds; round++) {
        for (const runs of round % 2 === 0 ? [alone, beside] : [beside, alone]) {
          const run = await measure(
            ground,
            running,
            runs === beside ? { directory, headquarters } : undefined,
          );
          if (round > 0) runs.push(run);
        }
        say(round === 0 ? 'Warm.' : `Round ${round} of ${rounds} is done.`);
      }
    } finally {
      await headquarters.stop();
    }
    await running.child.stop();
    show({
      headings: [
        'the biggest venue',
        'events/s',
        'p99 ms',
        'daemon, of a core',
        'shipper, of a core',
        'shipped/s',
      ],
      rows: [row('without a shipper', alone), row('beside one that catches up', beside)],
    });
    return verdicts(alone, beside);
  },
};

async function measure(ground: Ground, { child, target }: Running, ship: Shipped | undefined): Promise<Run> {
  const shipper = ship && start(ship);
  await ground.settle();
  await sleep(STARTED_MS);
  const sentBefore = ship === undefined ? 0 : await shipped(ship);
  const before = { daemon: child.cpuSeconds(), shipper: shipper?.cpuSeconds() ?? 0 };
  const seconds = ground.options.venueSeconds;
  const run = `ship-${process.hrtime.bigint()}`;
  const { events, failures, p99Ms } = await runCameras({ ...VENUE, target, seconds, run });
  if (failures > 0) throw new Error(`The biggest venue: ${failures} requests failed.`);
  const used = (now: number, then: number) => (now - then) / seconds;
  const result = {
    eventsPerS: events / seconds,
    p99Ms,
    cpu: used(child.cpuSeconds(), before.daemon),
    shipperCpu: used(shipper?.cpuSeconds() ?? 0, before.shipper),
    shippedPerS: ship === undefined ? 0 : used(await shipped(ship), sentBefore),
  };
  await shipper?.stop();
  return result;
}

/** From the beginning of the log, each time: under another name. */
function start({ directory, headquarters }: Shipped): Child {
  return new Child(COURTD, [
    'ship',
    '--data',
    directory,
    '--url',
    headquarters.url,
    '--box',
    `box-${boxes++}`,
  ]);
}

/** @returns how many events have been shipped. */
async function shipped({ directory }: Shipped): Promise<number> {
  const text = await new Child(COURTD, ['ship', 'status', '--json', '--data', directory]).output();
  return JSON.parse(text).shipped_seq ?? 0;
}

function row(title: string, runs: readonly Run[]): (string | number)[] {
  const of = (value: keyof Run) => median(runs.map((run) => run[value]));
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  return [
    title,
    Math.round(of('eventsPerS')),
    Math.round(of('p99Ms') * 100) / 100,
    percent(of('cpu')),
    percent(of('shipperCpu')),
    Math.round(of('shippedPerS')),
  ];
}

function verdicts(alone: readonly Run[], beside: readonly Run[]): Verdict[] {
  const ratio = (value: keyof Run) => median(beside.map((run, round) => run[value] / alone[round]![value]));
  const p99 = ratio('p99Ms');
  const what = 'The biggest venue beside a shipper that catches up, against without';
  return [
    atLeast(`${what}: events/s`, ratio('eventsPerS'), LEAST_RATE),
    { what: `${what}: p99`, seen: p99.toFixed(2), bar: `<= ${MOST}`, isMet: p99 <= MOST },
  ];
}
