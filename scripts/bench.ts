import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { integer } from '../src/cli/options/optionParsers.ts';
import { say } from '../src/cli/terminal/output.ts';
import { Child } from './bench/child.ts';
import { type Contender, contendersOf, type Running } from './bench/contenders.ts';
import { LOADS, measured, type Sample, SECTIONS } from './bench/loads.ts';
import { tableOf } from './bench/tables.ts';

/** `npm run bench`: courtd compared with its peers, or with another checkout. Prints one page of Markdown. */

const ROOT = path.resolve(import.meta.dirname, '..');
const TMPFS = 0x01021994;

interface Options {
  readonly section: readonly string[];
  readonly against?: string;
  readonly only?: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly fill: number;
  readonly dir: string;
}

const program = new Command('npm run bench --')
  .description(
    'measures courtd and its peers, every answer durable, and prints a page of Markdown. Publish only results of a clean ' +
      'commit and a quiet machine',
  )
  .addOption(new Option('--section <name...>', 'only these').choices(SECTIONS).default(SECTIONS))
  .option('--against <directory>', 'another checkout: only its courtd runs beside this one')
  .option('--only <name...>', 'only these contenders: courtd, against, fastify, go, influxdb')
  .addOption(
    new Option('--rounds <number>', 'each contender runs once in each').default(5).argParser(integer(1, 99)),
  )
  .addOption(new Option('--seconds <number>', 'the length of one run').default(5).argParser(integer(1, 600)))
  .addOption(
    new Option('--fill <number>', 'events that each contender holds before the first round')
      .default(400_000)
      .argParser(integer(0, 100_000_000)),
  )
  .option(
    '--dir <directory>',
    'a directory for temporary data, on the disk that is measured',
    path.join(ROOT, 'data'),
  )
  .parse();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    // Whatever waits for a child then fails and cleans up.
    process.exitCode = 130;
    Child.endAll();
  });
}
await bench(program.opts<Options>());

async function bench(options: Options): Promise<void> {
  fs.mkdirSync(options.dir, { recursive: true });
  const directory = fs.mkdtempSync(path.join(options.dir, 'bench-'));
  const head = circumstances(options, directory);
  try {
    const all = await start(options, directory);
    for (const { running } of all) await fill(running, options.fill);
    const rounds = await runRounds(all, options);
    for (const { running } of all) await running.finish();
    const loads = LOADS.filter(({ section }) => options.section.includes(section));
    const tables = loads.map((load) =>
      tableOf(
        load.title,
        all.map(({ contender }) => contender.title),
        rounds.get(load)!,
      ),
    );
    process.stdout.write(`${[head, ...tables].join('\n\n')}\n`);
  } catch (error) {
    if (process.exitCode !== 130) throw error;
  } finally {
    Child.endAll();
    fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

interface Started {
  readonly contender: Contender;
  readonly running: Running;
}

/** Starts the contenders that were asked for and can run here; each is stopped while another one is measured. */
async function start({ against, only }: Options, directory: string): Promise<Started[]> {
  const all: Started[] = [];
  for (const contender of contendersOf(ROOT, against)) {
    if (only?.includes(contender.name) === false) continue;
    const lacks = contender.lacks?.();
    if (lacks !== undefined) {
      say(`${contender.title} is left out: ${lacks}.`);
      continue;
    }
    const own = path.join(directory, contender.name);
    fs.mkdirSync(own);
    const running = await contender.start(own);
    running.child.pause();
    all.push({ contender, running });
  }
  return all;
}

/** As in the middle of a day: an empty index would flatter those that have one. */
async function fill(running: Running, events: number): Promise<void> {
  while (running.events < events) await measured(running, LOADS[1]!, 2);
}

/** @returns for each load and contender one sample a round. */
async function runRounds(all: readonly Started[], { section, rounds, seconds }: Options) {
  const loads = LOADS.filter((load) => section.includes(load.section));
  const samples = new Map(loads.map((load) => [load, all.map((): Sample[] => [])]));
  for (let round = 0; round < rounds; round++) {
    for (const load of loads) {
      for (let i = 0; i < all.length; i++) {
        // Rotated, so that no contender always runs after the same one.
        const at = (i + round) % all.length;
        samples.get(load)![at]!.push(await measured(all[at]!.running, load, seconds));
      }
    }
    say(`Round ${round + 1} of ${rounds} is done.`);
  }
  return samples;
}

/** @returns what a reader must know to compare the numbers with others. */
function circumstances({ rounds, seconds, fill, against }: Options, directory: string): string {
  const gib = Math.round(os.totalmem() / 1024 ** 3);
  const machine = `${os.availableParallelism()} x ${os.cpus()[0]?.model}, ${gib} GiB, ${os.type()} ${os.release()}, Node ${process.version}`;
  const other = against === undefined ? '' : ` Beside it: ${against}, commit ${commitOf(against)}.`;
  const memory =
    fs.statfsSync(directory).type === TMPFS ? ' The data was in memory, where an fsync costs nothing.' : '';
  return `# Benchmark of courtd

${new Date().toISOString().slice(0, 10)}, commit ${commitOf(ROOT)}, ${machine}; load before the run ${os.loadavg()[0]!.toFixed(1)}.${other}${memory}

Median, lowest and highest of ${rounds} rounds of ${seconds} s. One contender at a time, ${fill.toLocaleString('en')} events in each before;
random event ids, requests of one session; one sending process on the same machine, from one address, so without the rate limit.
"Bytes" are those that the process wrote, its log included and its answers not. "courtd is" is courtd's rate divided by the other's.`;
}

function commitOf(checkout: string): string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', checkout, ...args], { encoding: 'utf8' }).trim();
  const isClean = git('status', '--porcelain') === '';
  return `${git('rev-parse', '--short', 'HEAD')}${isClean ? '' : ' with uncommitted changes'}`;
}
