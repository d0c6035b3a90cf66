import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../../src/cli/terminal/output.ts';
import { atLeast, atMost, type Verdict } from './bars.ts';
import { runCameras } from './clients/cameras.ts';
import type { Order, Outcome } from './clients/client.ts';
import type { Contender, Running } from './contender.ts';
import { courtd, courtdWithMetrics } from './courtd.ts';
import type { Ground } from './ground.ts';
import { SINGLES } from './load.ts';
import { Measured, median } from './measure.ts';
import type { Section } from './section.ts';
import { VENUE } from './venue.ts';
import { Watcher } from './watcher.ts';

/** Ingest alone, and beside three readers of all events, a status screen and the metrics file: in turns. */

const TAILS = 3;
const WARM_UP_S = 1;
/** Time for the observers to start, which costs more than observing. */
const SETTLED_MS = 2_000;
const LEAST_RATE = 0.95;
const MOST = 1.05;
const STATUS_MOST_PERCENT = 2;

/** One run of one load. */
interface Run {
  readonly eventsPerS: number;
  readonly p99Ms: number;
  /** Of the daemon, for each event. */
  readonly cpuUs: number;
  /** Of one core. */
  readonly tailShare: number;
  readonly statusShare: number;
}

interface Box {
  readonly running: Running;
  readonly measured: Measured;
  readonly directory: string;
  readonly isWatched: boolean;
  readonly runs: { readonly singles: Run[]; readonly venue: Run[] };
}

export const watchers: Section = {
  name: 'watchers',
  async run(ground, show) {
    const boxes = [await start(ground, courtd, false), await start(ground, courtdWithMetrics, true)] as const;
    const { rounds, seconds, venueSeconds } = ground.options;
    for (let round = 0; round <= rounds; round++) {
      for (const box of round % 2 === 0 ? boxes : boxes.toReversed()) {
        const singles = await runSingles(ground, box, round === 0 ? WARM_UP_S : seconds);
        const cameras = await runVenue(ground, box, round === 0 ? WARM_UP_S : venueSeconds);
        if (round === 0) continue;
        box.runs.singles.push(singles);
        box.runs.venue.push(cameras);
      }
      say(round === 0 ? 'Warm.' : `Round ${round} of ${rounds} is done.`);
    }
    for (const { measured } of boxes) await measured.finish();
    const loads = [
      ['singles', SINGLES.title],
      ['venue', 'the biggest venue'],
    ] as const;
    for (const [load, title] of loads) show(table(title, boxes, load));
    return loads.flatMap(([load, title]) => verdicts(title, boxes[0].runs[load], boxes[1].runs[load]));
  },
};

async function start(ground: Ground, contender: Contender, isWatched: boolean): Promise<Box> {
  const directory = ground.empty(contender.name);
  const running = await contender.start(directory);
  const measured = new Measured(contender, running);
  return { running, measured, directory, isWatched, runs: { singles: [], venue: [] } };
}

async function runSingles(ground: Ground, box: Box, seconds: number): Promise<Run> {
  let look: Look | undefined;
  const send = async (order: Order): Promise<Outcome> => {
    look = await Look.begin(ground, box);
    const outcome = await ground.send(order);
    await look.end(outcome.requests * order.events, outcome.seconds);
    return outcome;
  };
  const { eventsPerS, p99Ms } = await box.measured.run(SINGLES, seconds, send);
  return { eventsPerS, p99Ms, ...look!.seen };
}

async function runVenue(ground: Ground, box: Box, seconds: number): Promise<Run> {
  const { child, target } = box.running;
  child.resume();
  const look = await Look.begin(ground, box);
  const run = `venue-${process.hrtime.bigint()}`;
  const { events, failures, p99Ms } = await runCameras({ ...VENUE, target, seconds, run });
  await look.end(events, seconds);
  child.pause();
  if (failures > 0) throw new Error(`The biggest venue: ${failures} requests failed.`);
  box.measured.alsoStored(events);
  return { eventsPerS: events / seconds, p99Ms, ...look.seen };
}

/** The observers of one run, and the CPU that they and the daemon use. */
class Look {
  readonly #box: Box;
  readonly #watchers: readonly Watcher[];
  #before: readonly number[] = [];
  seen: Pick<Run, 'cpuUs' | 'tailShare' | 'statusShare'> = { cpuUs: 0, tailShare: 0, statusShare: 0 };

  private constructor(box: Box, watchers: readonly Watcher[]) {
    this.#box = box;
    this.#watchers = watchers;
  }

  static async begin(ground: Ground, box: Box): Promise<Look> {
    const folder = (i: number) => ground.empty(`watcher-${i}`);
    const all = () => [
      Watcher.status(box.directory, folder(0)),
      ...Array.from({ length: TAILS }, (_, i) => Watcher.tail(box.directory, folder(i + 1))),
    ];
    const look = new Look(box, box.isWatched ? all() : []);
    await Promise.all(look.#watchers.map((watcher) => watcher.started()));
    await ground.settle();
    await sleep(SETTLED_MS);
    look.#before = look.#cpu();
    return look;
  }

  async end(events: number, seconds: number): Promise<void> {
    const [daemon = 0, status = 0, ...tails] = this.#cpu().map((cpu, i) => cpu - this.#before[i]!);
    const tailShare = tails.reduce((sum, cpu) => sum + cpu, 0) / TAILS / seconds;
    this.seen = { cpuUs: (daemon / events) * 1e6, statusShare: status / seconds, tailShare };
    for (const watcher of this.#watchers) await watcher.stop();
  }

  #cpu(): number[] {
    return [this.#box.running.child.cpuSeconds(), ...this.#watchers.map((watcher) => watcher.cpuSeconds())];
  }
}

function table(title: string, boxes: readonly Box[], load: keyof Box['runs']) {
  const rows = boxes.map(({ measured, isWatched, runs }) => {
    const of = (value: keyof Run) => median(runs[load].map((run) => run[value]));
    const percent = (share: number) => (isWatched ? `${(share * 100).toFixed(1)} %` : '-');
    return [
      measured.contender.title,
      Math.round(of('eventsPerS')),
      Math.round(of('p99Ms') * 100) / 100,
      Math.round(of('cpuUs') * 10) / 10,
      percent(of('tailShare')),
      percent(of('statusShare')),
    ];
  });
  return { headings: [title, 'events/s', 'p99 ms', 'CPU us/event', 'a tail', 'status --watch'], rows };
}

function verdicts(title: string, alone: readonly Run[], watched: readonly Run[]): Verdict[] {
  const ratio = (value: keyof Run) => median(watched.map((run, round) => run[value] / alone[round]![value]));
  const status = median(watched.map(({ statusShare }) => statusShare)) * 100;
  const most = (what: string, value: keyof Run) => ({
    ...atMost(`${title}, watched against not: ${what}`, ratio(value), MOST),
    seen: ratio(value).toFixed(2),
    bar: `<= ${MOST}`,
  });
  return [
    atLeast(`${title}, watched against not: events/s`, ratio('eventsPerS'), LEAST_RATE),
    most('p99', 'p99Ms'),
    most('CPU of the daemon', 'cpuUs'),
    atMost(`${title}: status --watch, of a core`, status, STATUS_MOST_PERCENT, '%'),
  ];
}
