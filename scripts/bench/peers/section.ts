import { say } from '../../../src/cli/terminal/output.ts';
import { runCameras } from '../clients/cameras.ts';
import type { Contender } from '../contender.ts';
import { measureAll, startAll } from '../contest.ts';
import { courtd } from '../courtd.ts';
import type { Ground } from '../ground.ts';
import { influxdb } from '../influxdb.ts';
import { ALONE, BATCHES, type Load, SINGLES, SMALL_BATCHES } from '../load.ts';
import { type Measured, median, type Sample } from '../measure.ts';
import type { Table } from '../report.ts';
import type { Section } from '../section.ts';
import { VENUE } from '../venue.ts';
import { goPostgres, goRedis, goSQLite } from './goPeers.ts';
import { fastify, fastifyPostgres } from './nodePeers.ts';
import { powerCuts } from './powerCuts.ts';
import { SLOWER_MS, slowDisk } from './slowDisk.ts';
import { hasStrace, syncsPerAnswer } from './syncs.ts';

/**
 * courtd beside what a good engineer would build in its place, all durable before the answer. The last table shows who answers faster than
 * its promise allows: syncs for each answer, and what is lost in a power cut.
 */

export const PEERS: readonly Contender[] = [
  courtd,
  goSQLite,
  goPostgres,
  fastifyPostgres,
  fastify,
  goRedis,
  influxdb,
];
const LOADS: readonly Load[] = [SINGLES, SMALL_BATCHES, BATCHES, ALONE];
const SLOW_LOADS: readonly Load[] = [SINGLES, BATCHES, ALONE];
const MIB = 1024 ** 2;

export const peers: Section = {
  name: 'peers',
  async run(ground, show) {
    const memory = await contest(ground, PEERS, LOADS, '', show);
    show(await venues(ground));
    const under = slowDisk(ground.directory);
    if (under === undefined) say('The slow disk is left out: there is no C compiler.');
    else {
      const others = PEERS.filter((one) => one !== influxdb);
      await contest(ground, others, SLOW_LOADS, `, a sync takes ${SLOWER_MS} ms longer`, show, under);
    }
    show(await promises(ground, memory));
    return [];
  },
};

/** @returns the most memory of each that took part. */
async function contest(
  ground: Ground,
  contenders: readonly Contender[],
  loads: readonly Load[],
  where: string,
  show: (table: Table) => void,
  under?: readonly string[],
): Promise<Map<Contender, number>> {
  const measured = await startAll(ground, contenders, under);
  await measureAll(ground, measured, loads);
  for (const one of measured) await one.finish();
  for (const load of loads) show(table(load, where, measured));
  return new Map(measured.map((one) => [one.contender, one.memoryBytes]));
}

function table(load: Load, where: string, measured: readonly Measured[]): Table {
  const first = measured[0]!;
  return {
    headings: [
      `${load.title}${where}`,
      'events/s',
      'courtd = 1',
      'lowest to highest',
      'p50 ms',
      'p99 ms',
      'CPU us/event',
      'bytes written/event',
    ],
    rows: measured.map((one) => {
      const ratios = one
        .samples(load)
        .map(({ eventsPerS }, i) => eventsPerS / first.samples(load)[i]!.eventsPerS);
      const value = (name: keyof Sample, digits: number) => {
        const seen = one.median(load, name);
        return Number.isNaN(seen) ? '-' : Number(seen.toFixed(digits));
      };
      return [
        one.contender.title,
        value('eventsPerS', 0),
        median(ratios).toFixed(2),
        `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
        value('p50Ms', 2),
        value('p99Ms', 2),
        value('cpuUs', 0),
        value('writtenBytes', 0),
      ];
    }),
  };
}

/** The largest venue, whose cameras send on schedule. */
async function venues(ground: Ground): Promise<Table> {
  const rows: (string | number)[][] = [];
  for (const contender of PEERS) {
    // It has a different protocol, which the cameras do not speak.
    if (contender === influxdb || !takesPart(contender, ground)) continue;
    const { target, child, servers = [] } = await contender.start(ground.empty(`${contender.name}-venue`));
    const all = [child, ...servers];
    const cpuSeconds = () => all.reduce((sum, one) => sum + one.cpuSeconds(), 0);
    const shift = { ...VENUE, target, run: 'venue' };
    await runCameras({ ...shift, seconds: 1, run: 'warm' });
    const before = cpuSeconds();
    const { events, p50Ms, p99Ms, maxMs, failures } = await runCameras({
      ...shift,
      seconds: ground.options.venueSeconds,
    });
    if (failures > 0) throw new Error(`${contender.title}, the biggest venue: ${failures} requests failed.`);
    rows.push([contender.title, p50Ms, p99Ms, maxMs, Math.round(((cpuSeconds() - before) * 1e6) / events)]);
    await child.stop();
    for (const server of servers) await server.stop('SIGINT');
  }
  const title = `the biggest venue: ${VENUE.cameras} cameras, ${VENUE.eventsPerS} events/s`;
  return { headings: [title, 'p50 ms', 'p99 ms', 'slowest ms', 'CPU us/event'], rows };
}

/** How durable each answer is. */
async function promises(ground: Ground, memory: ReadonlyMap<Contender, number>): Promise<Table> {
  const cuts = ground.options.powerCuts;
  const rows: (string | number)[][] = [];
  for (const contender of PEERS) {
    if (!takesPart(contender, ground)) continue;
    const syncs = hasStrace() ? (await syncsPerAnswer(contender, ground)).toFixed(2) : '-';
    const found = cuts > 0 ? await powerCuts(contender.name, cuts) : undefined;
    const lost =
      found === undefined
        ? '-'
        : `${found.lost}${found.dead > 0 ? `, did not start after ${found.dead}` : ''}`;
    rows.push([contender.title, syncs, lost, Math.round((memory.get(contender) ?? Number.NaN) / MIB)]);
    say(`${contender.title}: ${syncs} syncs, ${lost} lost.`);
  }
  return {
    headings: [
      'what an answer is worth',
      'syncs/answer',
      `acknowledged events lost, ${cuts} power cuts`,
      'memory MiB',
    ],
    rows,
  };
}

function takesPart(contender: Contender, ground: Ground): boolean {
  return ground.options.only?.includes(contender.name) !== false && contender.missing?.() === undefined;
}
