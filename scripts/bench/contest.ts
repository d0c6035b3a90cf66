import fs from 'node:fs';
import path from 'node:path';
import { say } from '../../src/cli/terminal/output.ts';
import { judge } from './bars.ts';
import type { Contender } from './contender.ts';
import { courtd } from './courtd.ts';
import { fastify } from './fastify.ts';
import type { Ground } from './ground.ts';
import { influxdb } from './influxdb.ts';
import { BATCHES, LOADS, type Load } from './load.ts';
import { Measured } from './measure.ts';
import { loadTables } from './report.ts';
import type { Section } from './section.ts';
import { COURTS, SESSION_EVENTS } from './traffic.ts';

/** courtd against what one would use instead. */

export const CONTENDERS: readonly Contender[] = [courtd, fastify, influxdb];
const WARM_UP_S = 1;
/** As in the middle of a day: each session is half full when measuring starts. An empty index would flatter those that have one. */
const EVENTS_BEFORE = (COURTS * SESSION_EVENTS) / 2;

export const contest: Section = {
  name: 'contest',
  async run(ground, show) {
    const measured = await startAll(ground, CONTENDERS);
    await fillAll(ground, measured);
    await measureAll(ground, measured, LOADS);
    const footprints = new Map<Measured, number>();
    for (const one of measured) {
      const events = await one.finish();
      if (one.contender === courtd) ground.notePeak(one.peakBytes);
      const size = directoryBytes(path.join(ground.directory, one.contender.name));
      if (events !== undefined) footprints.set(one, size / events);
    }
    process.stdout.write('\n');
    for (const table of loadTables(measured, footprints)) show(table);
    return judge(measured);
  },
};

/** @returns the contenders that were asked for and can run on this machine, started. */
export async function startAll(ground: Ground, contenders: readonly Contender[]): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const contender of contenders) {
    if (ground.options.only?.includes(contender.name) === false) continue;
    const reason = contender.missing?.();
    if (reason === undefined) {
      const directory = ground.empty(contender.name);
      measured.push(new Measured(contender, await contender.start(directory), directory));
    } else {
      say(`${contender.title} is left out: ${reason}.`);
    }
  }
  return measured;
}

/** Fills every session half. */
export async function fillAll(ground: Ground, measured: readonly Measured[]): Promise<void> {
  for (const one of measured) await one.fill(BATCHES, EVENTS_BEFORE, (order) => ground.send(order));
}

/** Every contender in every round, one at a time. */
export async function measureAll(
  ground: Ground,
  measured: readonly Measured[],
  loads: readonly Load[],
): Promise<void> {
  const { rounds, seconds } = ground.options;
  for (let round = 0; round <= rounds; round++) {
    for (const load of loads) {
      for (const one of rotated(measured, round)) {
        await ground.settle();
        // The first round warms up.
        const sample = await one.run(load, round === 0 ? WARM_UP_S : seconds, (order) => ground.send(order));
        if (round > 0) one.keep(load, sample);
      }
    }
    say(round === 0 ? 'Warm.' : `Round ${round} of ${rounds} is done.`);
  }
}

/** So that no contender always runs after the same one. */
function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function directoryBytes(directory: string): number {
  let bytes = 0;
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += fs.statSync(path.join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}
