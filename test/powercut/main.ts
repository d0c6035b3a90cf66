import { parseArgs } from 'node:util';
import { Random } from '../../src/vendor/simulate/random.ts';
import { FAULTS } from '../harness/compareStored.ts';
import { Traffic } from '../harness/traffic.ts';
import { Workshop } from '../harness/workshop.ts';
import { Check } from './check.ts';
import { chooseCuts } from './cuts.ts';
import { missingNeeds } from './needs.ts';
import { IN_FLIGHT, Platter } from './platter.ts';
import { type Recording, record } from './recording.ts';

/**
 * What is left of courtd when the power fails: `npm run power-cut` (`-- --cuts N --seed N`). A recorded run
 * of the real program under load, on a disk whose every write is logged; then simulated cuts, each at some write, with what was in
 * flight landed whole, not at all, or torn. After each, the file system is mounted, the store opens, and everything that was
 * acknowledged by then must be stored, once. Exit status 1 otherwise.
 */

const FAULTS_TOLD = 10;

const { values } = parseArgs({
  options: { cuts: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
});
/** The same seed gives the same cuts of the same recording. */
const [cuts, seed] = [Number(values.cuts), Number(values.seed)];
const lacks = missingNeeds();
if (lacks === undefined) {
  process.exit((await run()) ? 0 : 1);
} else {
  console.error(`power-cut: ${lacks}`);
  process.exitCode = 1;
}

/** @returns whether all went well. */
async function run(): Promise<boolean> {
  const workshop = new Workshop('power-cut');
  const random = new Random(seed);
  const startedAt = performance.now();
  const recording = await record(workshop, random);
  tellRecording(recording, performance.now() - startedAt);
  const isSound = await cutAll(workshop, recording, random);
  workshop.end();
  return isSound;
}

async function cutAll(workshop: Workshop, recording: Recording, random: Random): Promise<boolean> {
  const { image, log, history } = recording;
  const platter = new Platter(image, log);
  const check = new Check(workshop, history, new Traffic(random, history), random);
  const failed = Object.fromEntries(FAULTS.map((kind) => [kind, 0]));
  const faults = [...history.faults];
  let flying = 0;
  const startedAt = performance.now();
  for (const cut of chooseCuts(recording, cuts, random)) {
    const inFlight = cut === log.entries.length ? 'whole' : random.pick(IN_FLIGHT);
    const disk = workshop.file('cut');
    if (platter.cut(cut, inFlight, random, disk) > 0) flying++;
    const found = await check.run(disk, cut);
    for (const kind of new Set(found.map(({ kind }) => kind))) failed[kind]!++;
    for (const { kind, what } of found) {
      faults.push(`cut after write ${cut} of ${log.entries.length}, in flight ${inFlight}: ${kind}: ${what}`);
    }
  }
  const ms = (performance.now() - startedAt) / cuts;
  for (const fault of faults.slice(0, FAULTS_TOLD)) console.log(fault);
  if (faults.length > FAULTS_TOLD) console.log(`... and ${faults.length - FAULTS_TOLD} faults more`);
  const counts = FAULTS.map((kind) => `${kind} ${failed[kind]}`).join(', ');
  console.log(`${cuts} power cuts: ${counts}; ${ms.toFixed(0)} ms each; ${flying} with writes in flight`);
  return faults.length === 0;
}

function tellRecording({ log, history }: Recording, ms: number): void {
  const flushes = log.entries.filter(({ isFlush }) => isFlush).length;
  console.log(
    `recorded ${history.texts.size} events in ${history.requests.length} requests and ${history.resends} resends, ` +
      `${log.entries.length} writes and flushes (${flushes} of them) in ${(ms / 1000).toFixed(1)} s`,
  );
}
