import fs from 'node:fs';
import path from 'node:path';
import { Command, Option } from 'commander';
import { counted } from '../src/base/units.ts';
import { integer } from '../src/cli/options/optionParsers.ts';
import { say } from '../src/cli/terminal/output.ts';
import { atMost } from './bench/bars.ts';
import { Child } from './bench/child.ts';
import { hasWrk } from './bench/clients/wrk.ts';
import { CONTENDERS, contest } from './bench/contest.ts';
import { erasing } from './bench/erasing.ts';
import { exports } from './bench/exports.ts';
import { footprint } from './bench/footprint.ts';
import { type BenchOptions, Ground } from './bench/ground.ts';
import { growth } from './bench/growth.ts';
import { installMissing } from './bench/peers/packages.ts';
import { PEERS, peers } from './bench/peers/section.ts';
import { show, type Table, verdictTable } from './bench/report.ts';
import { type Circumstances, circumstances, RESULTS, writeResults } from './bench/results.ts';
import type { Section } from './bench/section.ts';
import { shipping } from './bench/shipping.ts';
import { start } from './bench/start.ts';
import { venue } from './bench/venue.ts';
import { watchers } from './bench/watchers.ts';
import { wear } from './bench/wear.ts';

/** `npm run bench`: courtd compared with its peers and with the bars that it must meet. Every answer is durable. */

/** The peers take minutes and packages of their own: they run where they are asked for. */
const USUAL: readonly Section[] = [
  contest,
  venue,
  growth,
  wear,
  footprint,
  start,
  exports,
  watchers,
  shipping,
  erasing,
];
const SECTIONS: readonly Section[] = [...USUAL, peers];
const VENUE_SECONDS = { short: 10, full: 60 };
const PEAK_MIB = 250;
const MIB = 1024 ** 2;
const TMPFS = 0x01021994;
const IN_MEMORY = ' The data was in memory, where an fsync costs nothing: choose a disk with --dir.';

interface Options extends Omit<BenchOptions, 'venueSeconds' | 'client'> {
  readonly client?: BenchOptions['client'];
  readonly section?: readonly string[];
  readonly peers: boolean;
  readonly venueSeconds?: number;
  readonly dir: string;
  readonly results: string;
}

type Chosen = Options & Pick<BenchOptions, 'client'>;

const program = new Command('npm run bench --')
  .description('measures courtd beside its peers and its bars, and writes the results to a file')
  .addOption(
    new Option('--section <name...>', 'only these sections').choices(SECTIONS.map(({ name }) => name)),
  )
  .option(
    '--peers',
    'only the peers: what one would build instead, and what their answers are worth; as root it installs them from Debian',
    false,
  )
  .addOption(
    new Option('--power-cuts <number>', 'simulated power cuts of each peer; takes root')
      .default(16)
      .argParser(integer(0, 10_000)),
  )
  .option(
    '--full',
    'include what takes long: a whole minute of the venue, a file of 10 million events',
    false,
  )
  .addOption(new Option('--seconds <number>', 'the length of one run').default(2).argParser(integer(1, 600)))
  .addOption(
    new Option('--rounds <number>', 'rounds of the contest; every contender runs in each')
      .default(5)
      .argParser(integer(1, 99)),
  )
  .addOption(
    new Option('--only <name...>', 'only these contenders in the contest').choices([
      ...new Set([...CONTENDERS, ...PEERS].map(({ name }) => name)),
    ]),
  )
  .addOption(
    new Option('--venue-seconds <number>', 'the length of the venue (default: 10, with --full 60)').argParser(
      integer(1, 3_600),
    ),
  )
  .option('--events <file...>', 'NDJSON, plain or gzip: the events whose size on disk is measured')
  .addOption(
    new Option('--client <name>', 'the program that sends (default: wrk where it is installed)').choices([
      'wrk',
      'own',
    ]),
  )
  .option(
    '--dir <directory>',
    'the directory for temporary data',
    path.resolve(import.meta.dirname, '../data'),
  )
  .option('--results <file>', 'the file to which the results are written', RESULTS)
  .parse();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    // Whatever waits for a child then fails and cleans up.
    process.exitCode = 130;
    Child.endAll();
  });
}
await bench(program.opts<Options>());

async function bench(given: Options): Promise<void> {
  if (given.peers) installMissing();
  const options = { ...given, client: given.client ?? (hasWrk() ? 'wrk' : 'own') } as const;
  fs.mkdirSync(options.dir, { recursive: true });
  const directory = fs.mkdtempSync(path.join(options.dir, 'bench-'));
  try {
    const method = methodOf(options, directory);
    say(`${method}\n`);
    await runSections(options, directory, circumstances(method));
  } catch (error) {
    if (process.exitCode !== 130) throw error;
  } finally {
    Child.endAll();
    fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** @returns how the sections measure. */
function methodOf({ client, rounds, seconds, only, events }: Chosen, directory: string): string {
  const choices = [
    ...(only === undefined ? [] : [` Only ${only.join(', ')}.`]),
    ...(events === undefined ? [] : [` Events of ${events.map((file) => path.basename(file)).join(', ')}.`]),
    ...(fs.statfsSync(directory).type === TMPFS ? [IN_MEMORY] : []),
  ];
  return `Medians of ${counted(rounds, 'round')} of ${seconds} s, one server at a time, ratios round by round; sent by ${client} from one address, so with --rate-limit 0.${choices.join('')}`;
}

async function runSections(options: Chosen, directory: string, run: Circumstances): Promise<void> {
  const { short, full } = VENUE_SECONDS;
  const venueSeconds = options.venueSeconds ?? (options.full ? full : short);
  const ground = new Ground({ ...options, venueSeconds }, directory);
  const order = SECTIONS.map(({ name }) => name);
  const asked = options.peers ? [peers.name] : (options.section ?? USUAL.map(({ name }) => name));
  for (const { name, run: runSection } of SECTIONS) {
    if (!asked.includes(name)) continue;
    say(`\n${name}:`);
    const tables: Table[] = [];
    const showAndKeep = (table: Table) => {
      show(table);
      tables.push(table);
    };
    const verdicts = await runSection(ground, showAndKeep);
    const peak = ground.takePeak();
    if (peak > 0) verdicts.push(atMost('Peak memory over these loads', peak / MIB, PEAK_MIB, 'MiB'));
    process.stdout.write('\n');
    if (verdicts.length > 0) showAndKeep(verdictTable(verdicts));
    writeResults(options.results, order, name, run, tables);
    say(`Written to ${options.results}.`);
  }
}
