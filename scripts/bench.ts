import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { integer } from '../src/cli/arguments.ts';
import { say } from '../src/cli/output.ts';
import { Child } from './bench/child.ts';
import { runOwn } from './bench/clients/own.ts';
import { hasWrk, runWrk } from './bench/clients/wrk.ts';
import type { Contender } from './bench/contender.ts';
import { courtd, perRequest } from './bench/courtd.ts';
import { influxdb } from './bench/influxdb.ts';
import { LOADS } from './bench/load.ts';
import { Measured } from './bench/measure.ts';
import { fastify, nodeHttp } from './bench/peers.ts';
import { printReport } from './bench/report.ts';

/**
 * `npm run bench`: courtd against the same without its group commit, and against what one would use instead; every
 * answer durable on all sides but node:http's. Issues 2 and 3 name the bars.
 */

const CONTENDERS: readonly Contender[] = [courtd, perRequest, nodeHttp, fastify, influxdb];
const WARM_UP_S = 1;
const TMPFS = 0x01021994;

interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly only?: string[];
  readonly client: 'wrk' | 'own';
  readonly dir: string;
}

const program = new Command('npm run bench --')
  .description('measures courtd beside its peers, and prints the bars that it is held to')
  .addOption(new Option('--seconds <number>', 'of one run').default(2).argParser(integer(1, 600)))
  .addOption(
    new Option('--rounds <number>', 'in which everyone has a turn').default(5).argParser(integer(1, 99)),
  )
  .addOption(new Option('--only <name...>', 'these alone').choices(CONTENDERS.map(({ name }) => name)))
  .addOption(
    new Option('--client <name>', 'what sends').choices(['wrk', 'own']).default(hasWrk() ? 'wrk' : 'own'),
  )
  .option(
    '--dir <directory>',
    'where the data goes for the time being',
    path.resolve(import.meta.dirname, '../data'),
  )
  .parse();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    // What waits for them then fails, and cleans up behind itself.
    process.exitCode = 130;
    Child.endAll();
  });
}
await bench(program.opts<Options>());

async function bench(options: Options): Promise<void> {
  fs.mkdirSync(options.dir, { recursive: true });
  const directory = fs.mkdtempSync(path.join(options.dir, 'bench-'));
  try {
    introduce(options, directory);
    await measureAll(options, directory);
  } catch (error) {
    if (process.exitCode !== 130) throw error;
  } finally {
    Child.endAll();
    fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

function introduce({ client, rounds, seconds }: Options, directory: string): void {
  say(`${os.availableParallelism()} x ${os.cpus()[0]?.model}, Node ${process.version}, sent by ${client}.`);
  say(
    `Medians of ${rounds} rounds of ${seconds} s each, one server at a time; ratios are taken round by round.`,
  );
  say('All of it comes from one address, so courtd runs with --rate-limit 0.\n');
  if (fs.statfsSync(directory).type === TMPFS) {
    say(`${directory} is in memory, where an fsync costs nothing: choose a disk with --dir.\n`);
  }
}

async function measureAll(options: Options, directory: string): Promise<void> {
  const measured: Measured[] = [];
  for (const contender of CONTENDERS) {
    if (options.only?.includes(contender.name) === false) continue;
    const reason = contender.missing?.();
    if (reason === undefined) measured.push(await startOne(contender, directory));
    else say(`${contender.title} is left out: ${reason}.`);
  }
  const send = options.client === 'wrk' ? runWrk : runOwn;
  for (let round = 0; round <= options.rounds; round++) {
    for (const load of LOADS) {
      for (const one of rotated(measured, round)) {
        // What the one before has left to the kernel to write is not charged to this one.
        await new Child('sync', []).output();
        // The first round warms up.
        const sample = await one.run(load, round === 0 ? WARM_UP_S : options.seconds, send);
        if (round > 0) one.keep(load, sample);
      }
    }
    say(round === 0 ? 'Warm.' : `Round ${round} of ${options.rounds} is done.`);
  }
  const footprints = new Map<Measured, number>();
  for (const one of measured) {
    const events = await one.finish();
    const size = directoryBytes(path.join(directory, one.contender.name));
    if (events !== undefined) footprints.set(one, size / events);
  }
  process.stdout.write('\n');
  printReport(measured, footprints);
}

/** Nobody always follows the same one. */
function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

async function startOne(contender: Contender, directory: string): Promise<Measured> {
  const own = path.join(directory, contender.name);
  fs.mkdirSync(own);
  return new Measured(contender, await contender.start(own));
}

function directoryBytes(directory: string): number {
  let bytes = 0;
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += fs.statSync(path.join(entry.parentPath, entry.name)).size;
  }
  return bytes;
}
