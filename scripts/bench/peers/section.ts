import { say } from '../../../src/cli/terminal/output.ts';
import { runCameras } from '../clients/cameras.ts';
import { type Contender, childrenOf, stopRunning } from '../contender.ts';
import { fillAll, measureAll, startAll } from '../contest.ts';
import { courtd } from '../courtd.ts';
import type { Ground } from '../ground.ts';
import { influxdb } from '../influxdb.ts';
import { ALONE, BATCHES, type Load, SINGLES, SMALL_BATCHES } from '../load.ts';
import type { Measured } from '../measure.ts';
import type { Table } from '../report.ts';
import type { Section } from '../section.ts';
import { VENUE } from '../venue.ts';
import { goEtcd, goPostgres, goRedis, goSQLite } from './goPeers.ts';
import { fastify, fastifyPostgres } from './nodePeers.ts';
import { missingForPowerCuts, powerCuts } from './powerCuts.ts';
import { SLOWER_MS, SlowDisk } from './slowDisk.ts';
import { hasStrace, syncsPerAnswer } from './syncs.ts';
import { builtTable, loadTable, type Seen, summary, type Worth, worthTable } from './tables.ts';

/**
 * courtd beside what a good engineer would build in its place, all durable before the answer. The last tables show who answers
 * faster than its promise allows: syncs for each answer, and what is lost in a power cut.
 */

export const PEERS: readonly Contender[] = [
  courtd,
  goSQLite,
  goPostgres,
  fastifyPostgres,
  fastify,
  goRedis,
  goEtcd,
  influxdb,
];
const LOADS: readonly Load[] = [SINGLES, SMALL_BATCHES, BATCHES, ALONE];
const SLOW_LOADS: readonly Load[] = [SINGLES, BATCHES, ALONE];

export const peers: Section = {
  name: 'peers',
  async run(ground, show) {
    const lacks = ground.options.powerCuts > 0 ? await missingForPowerCuts() : 'none were asked for.';
    if (lacks !== undefined) say(`Power cuts are left out: ${lacks}`);
    const cuts = lacks === undefined ? ground.options.powerCuts : 0;
    const measured = await startAll(ground, PEERS);
    const seen: Seen[] = [];
    const showLoads = (loads: readonly Load[], where: string, of: readonly Measured[]) => {
      for (const load of loads) {
        seen.push({
          title: `${load.title}${where}`,
          samples: of.map((one) => [one.contender, one.samples(load)]),
        });
        show(loadTable(seen.at(-1)!));
      }
    };
    await fillAll(ground, measured);
    await measureAll(ground, measured, LOADS);
    showLoads(LOADS, '', measured);
    show(await venues(ground, measured));
    const disk = new SlowDisk(ground.directory);
    const slowed: Measured[] = [];
    for (const one of measured) {
      const under = disk.under(one.contender);
      if (under === undefined) continue;
      await one.restart(under);
      slowed.push(one);
    }
    await measureAll(ground, slowed, SLOW_LOADS);
    showLoads(SLOW_LOADS, `, a sync takes ${SLOWER_MS} ms longer`, slowed);
    show(await worth(ground, measured, seen, cuts));
    show(summary(seen));
    show(builtTable(measured.map(({ contender }) => contender)));
    return [];
  },
};

/** The largest venue, whose cameras send on schedule. */
async function venues(ground: Ground, measured: readonly Measured[]): Promise<Table> {
  const rows: (string | number)[][] = [];
  for (const { contender } of measured) {
    const running = await contender.start(ground.empty(`${contender.name}-venue`));
    const cpuSeconds = () => childrenOf(running).reduce((sum, one) => sum + one.cpuSeconds(), 0);
    const shift = { ...VENUE, target: running.target, run: 'venue' };
    await runCameras({ ...shift, seconds: 1, run: 'warm' });
    await ground.settle();
    const before = cpuSeconds();
    const { events, p50Ms, p99Ms, maxMs, failures } = await runCameras({
      ...shift,
      seconds: ground.options.venueSeconds,
    });
    if (failures > 0) throw new Error(`${contender.title}, the biggest venue: ${failures} requests failed.`);
    rows.push([contender.title, p50Ms, p99Ms, maxMs, Math.round(((cpuSeconds() - before) * 1e6) / events)]);
    await stopRunning(running);
  }
  const title = `the biggest venue: ${VENUE.cameras} cameras, ${VENUE.eventsPerS} events/s`;
  return { headings: [title, 'p50 ms', 'p99 ms', 'slowest ms', 'CPU us/event'], rows };
}

/** How durable each answer is, and what it costs. */
async function worth(
  ground: Ground,
  measured: readonly Measured[],
  seen: readonly Seen[],
  cuts: number,
): Promise<Table> {
  const rows: Worth[] = [];
  for (const one of measured) {
    const { contender, memoryBytes } = one;
    const held = await one.finish();
    const syncs = hasStrace() ? await orSay(contender, syncsPerAnswer(contender, ground)) : undefined;
    const found = cuts > 0 ? await orSay(contender, powerCuts(contender.name, cuts)) : undefined;
    say(`${contender.title}: ${syncs?.toFixed(2) ?? '-'} syncs, ${found?.lost ?? '-'} lost.`);
    rows.push({ contender, syncs, found, memoryBytes, held });
  }
  return worthTable(cuts, rows, seen);
}

/** What came before took minutes: one cell that fails must not cost all of it. */
async function orSay<Value>({ title }: Contender, value: Promise<Value>): Promise<Value | undefined> {
  try {
    return await value;
  } catch (error) {
    say(`${title}: ${(error as Error).message}`);
    return undefined;
  }
}
