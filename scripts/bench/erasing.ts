import fs from 'node:fs';
import path from 'node:path';
import { say } from '../../src/cli/terminal/output.ts';
import type { CourtEvent } from '../../src/protocol/event.ts';
import { atLeast, type Verdict } from './bars.ts';
import { runCameras } from './clients/cameras.ts';
import { command, courtd } from './courtd.ts';
import type { Ground } from './ground.ts';
import { matches } from './matches.ts';
import { median } from './measure.ts';
import { Neighbour } from './neighbours.ts';
import type { Section } from './section.ts';
import { sealAll, seed } from './seed.ts';

/** Cameras alone, and beside erasures or prunes: in turns, in each round on the same box, which nothing has been taken from yet. */

const EVENTS = 300_000;
const MATCHES = 16;
/** The events of one lie far apart: on a page each. */
const PLAYERS = 50;
const SHIFT = { cameras: 100, eventsPerS: 2_000, mostEvents: 20 };
const WARM_UP_S = 2;
const MOST_P99 = 1.5;
const LEAST_RATE = 0.9;

type Work = (data: string) => Neighbour;

const WORKS: readonly Work[] = [
  (data) =>
    new Neighbour('players are erased', (turn) =>
      command('player', 'erase', nameOf(turn), '--yes', '--json', '--data', data),
    ),
  (data) =>
    new Neighbour('events are pruned', () =>
      command('prune', '--older-than', '1s', '--yes', '--json', '--data', data),
    ),
];

interface Run {
  readonly events: number;
  readonly p99Ms: number;
}

export const erasing: Section = {
  name: 'erase',
  async run(ground, show) {
    const full = ground.empty('erase-full');
    await seed(full, events());
    sealAll(full);
    const verdicts: Verdict[] = [];
    const rows: (string | number)[][] = [];
    for (const work of WORKS) {
      const [alone, beside]: [Run[], Run[]] = [[], []];
      for (let round = 0; round < ground.options.rounds; round++)
        await measure(ground, full, work, alone, beside);
      const { title } = work('');
      const p99 = alone.map(({ p99Ms }, round) => beside[round]!.p99Ms / p99Ms);
      const p99Of = (runs: readonly Run[]) => median(runs.map((run) => run.p99Ms)).toFixed(1);
      rows.push([
        title,
        p99Of(alone),
        p99Of(beside),
        Math.min(...p99).toFixed(2),
        Math.max(...p99).toFixed(2),
      ]);
      const what = `${SHIFT.eventsPerS.toLocaleString('en')} events/s while ${title}, against without`;
      const ratio = median(p99);
      verdicts.push(
        { what: `${what}: p99`, seen: ratio.toFixed(2), bar: `<= ${MOST_P99}`, isMet: ratio <= MOST_P99 },
        atLeast(
          `${what}: events/s`,
          median(alone.map((run, i) => beside[i]!.events / run.events)),
          LEAST_RATE,
        ),
      );
    }
    const headings = ['while', 'p99 ms without', 'p99 ms', 'lowest ratio of a round', 'highest'];
    show({ headings, rows });
    return verdicts;
  },
};

/** One round: alone first in every other one. */
async function measure(ground: Ground, full: string, work: Work, alone: Run[], beside: Run[]): Promise<void> {
  const directory = path.join(ground.directory, 'erase');
  fs.cpSync(full, directory, { recursive: true });
  const { child, target } = await courtd.start(directory);
  const send = async (seconds: number): Promise<Run> => {
    const outcome = await runCameras({ ...SHIFT, target, seconds, run: `erase-${process.hrtime.bigint()}` });
    if (outcome.failures > 0) throw new Error(`${outcome.failures} requests failed.`);
    return outcome;
  };
  const { venueSeconds } = ground.options;
  const neighbour = work(directory);
  await ground.settle();
  await send(WARM_UP_S);
  const isFirst = alone.length % 2 === 0;
  if (isFirst) alone.push(await send(venueSeconds));
  neighbour.begin();
  beside.push(await send(venueSeconds));
  const times = await neighbour.end();
  if (!isFirst) alone.push(await send(venueSeconds));
  say(
    `While ${neighbour.title} (${times} times): p99 ${beside.at(-1)!.p99Ms} ms, without ${alone.at(-1)!.p99Ms} ms.`,
  );
  await child.stop();
  fs.rmSync(directory, { recursive: true });
}

const nameOf = (player: number) => `player-${player}-of-many`;

function* events(): Generator<CourtEvent[]> {
  let n = 0;
  const renamed = (payload: string) => payload.replace(/"p-[a-z-]+"/, () => `"${nameOf(n++ % PLAYERS)}"`);
  for (const some of matches('erase', EVENTS, MATCHES))
    yield some.map((event) => ({ ...event, payload: renamed(event.payload) }));
}
