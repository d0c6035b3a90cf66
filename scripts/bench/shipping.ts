import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../../src/cli/terminal/output.ts';
import { atLeast, type Verdict } from './bars.ts';
import { Child } from './child.ts';
import { runCameras } from './clients/cameras.ts';
import type { Running } from './contender.ts';
import { COURTD, courtd } from './courtd.ts';
import type { Ground } from './ground.ts';
import { median } from './measure.ts';
import type { Section } from './section.ts';
import { announcedPort } from './servers/announce.ts';
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

export const shipping: Section = {
  name: 'ship',
  async run(ground, show) {
    const { directory } = await ground.million('ship');
    const running = await courtd.start(directory);
    const headquarters = new Headquarters();
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

/** Where the shipper sends to (`servers/headquarters.ts`). */
class Headquarters {
  readonly #child = new Child(process.execPath, [path.join(import.meta.dirname, 'servers/headquarters.ts')]);
  readonly #port = this.#child.firstLine(announcedPort);

  async url(): Promise<string> {
    return `http://127.0.0.1:${await this.#port}`;
  }

  /** @returns how many events it was sent. */
  async events(): Promise<number> {
    return Number(await (await fetch(await this.url())).text());
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}

async function measure(
  ground: Ground,
  { child, target }: Running,
  ship: { readonly directory: string; readonly headquarters: Headquarters } | undefined,
): Promise<Run> {
  const shipper = ship && start(ship.directory, await ship.headquarters.url(), ground.directory);
  await ground.settle();
  await sleep(STARTED_MS);
  const before = {
    daemon: child.cpuSeconds(),
    shipper: shipper?.cpuSeconds() ?? 0,
    sent: (await ship?.headquarters.events()) ?? 0,
  };
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
    shippedPerS: used((await ship?.headquarters.events()) ?? 0, before.sent),
  };
  await shipper?.stop();
  return result;
}

/** From the beginning of the log, each time. */
function start(directory: string, url: string, folder: string): Child {
  fs.rmSync(path.join(directory, 'courtd.ship'), { force: true });
  const token = path.join(folder, 'ship.token');
  fs.writeFileSync(token, 'any');
  return new Child(COURTD, ['ship', '--data', directory, '--url', url, '--creds', token]);
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
