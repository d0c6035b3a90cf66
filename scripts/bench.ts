import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { integer } from '../src/cli/options/optionParsers.ts';
import { say } from '../src/cli/terminal/output.ts';
import { atMost, type Verdict } from './bench/bars.ts';
import { Child } from './bench/child.ts';
import { hasWrk } from './bench/clients/wrk.ts';
import { CONTENDERS, contest } from './bench/contest.ts';
import { exports } from './bench/exports.ts';
import { footprint } from './bench/footprint.ts';
import { type BenchOptions, Ground } from './bench/ground.ts';
import { growth } from './bench/growth.ts';
import { printVerdicts } from './bench/report.ts';
import type { Section } from './bench/section.ts';
import { start } from './bench/start.ts';
import { venue } from './bench/venue.ts';
import { wear } from './bench/wear.ts';

/** `npm run bench`: courtd beside its peers and beside the bars that issues 2 and 3 name; every answer is durable. */

const SECTIONS: readonly Section[] = [contest, venue, growth, wear, footprint, start, exports];
const VENUE_SECONDS = { short: 10, full: 60 };
const PEAK_MIB = 250;
const MIB = 1024 ** 2;
const TMPFS = 0x01021994;

interface Options extends Omit<BenchOptions, 'venueSeconds'> {
  readonly section?: readonly string[];
  readonly venueSeconds?: number;
  readonly dir: string;
}

const program = new Command('npm run bench --')
  .description('measures courtd beside its peers, and prints the bars that it is held to')
  .addOption(new Option('--section <name...>', 'these alone').choices(SECTIONS.map(({ name }) => name)))
  .option(
    '--full',
    'what takes long as well: a whole minute of the venue, a file of 10 million events',
    false,
  )
  .addOption(new Option('--seconds <number>', 'of one run').default(2).argParser(integer(1, 600)))
  .addOption(
    new Option('--rounds <number>', 'of the contest, in which everyone has a turn')
      .default(5)
      .argParser(integer(1, 99)),
  )
  .addOption(
    new Option('--only <name...>', 'these alone in the contest').choices(CONTENDERS.map(({ name }) => name)),
  )
  .addOption(
    new Option('--venue-seconds <number>', 'of the venue (default: 10, with --full 60)').argParser(
      integer(1, 3_600),
    ),
  )
  .option('--events <file...>', 'NDJSON, packed or not: the events whose size on disk is measured')
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
    await runSections(options, directory);
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

async function runSections(options: Options, directory: string): Promise<void> {
  const { short, full } = VENUE_SECONDS;
  const venueSeconds = options.venueSeconds ?? (options.full ? full : short);
  const ground = new Ground({ ...options, venueSeconds }, directory);
  const verdicts: Verdict[] = [];
  for (const section of SECTIONS) {
    if (options.section?.includes(section.name) === false) continue;
    say(`\n${section.name}:`);
    verdicts.push(...(await section.run(ground)));
  }
  const peak = ground.peakBytes;
  if (peak > 0) verdicts.push(atMost('Peak memory over all these loads', peak / MIB, PEAK_MIB, 'MiB'));
  process.stdout.write('\n');
  printVerdicts(verdicts);
}
