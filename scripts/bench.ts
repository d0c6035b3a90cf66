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
import { type BenchOptions, Ground } from './bench/ground.ts';
import { show, type Table, verdictTable } from './bench/report.ts';
import { type Circumstances, circumstances, RESULTS, writeResults } from './bench/results.ts';
import type { Section } from './bench/section.ts';
import { venue } from './bench/venue.ts';

/** `npm run bench`: courtd compared with its peers and with the bars that it must meet. Every answer is durable. */

const SECTIONS: readonly Section[] = [contest, venue];
const VENUE_SECONDS = { short: 10, full: 60 };
const PEAK_MIB = 250;
const MIB = 1024 ** 2;
const TMPFS = 0x01021994;
const IN_MEMORY = ' The data was in memory, where an fsync costs nothing: choose a disk with --dir.';

interface Options extends Omit<BenchOptions, 'venueSeconds' | 'client'> {
  readonly full: boolean;
  readonly client?: BenchOptions['client'];
  readonly section?: readonly string[];
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
  .option('--full', 'a whole minute of the venue', false)
  .addOption(new Option('--seconds <number>', 'the length of one run').default(2).argParser(integer(1, 600)))
  .addOption(
    new Option('--rounds <number>', 'rounds of the contest; every contender runs in each')
      .default(5)
      .argParser(integer(1, 99)),
  )
  .addOption(
    new Option('--only <name...>', 'only these contenders in the contest').choices([
      ...new Set(CONTENDERS.map(({ name }) => name)),
    ]),
  )
  .addOption(
    new Option('--venue-seconds <number>', 'the length of the venue (default: 10, with --full 60)').argParser(
      integer(1, 3_600),
    ),
  )
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
function methodOf({ client, rounds, seconds, only }: Chosen, directory: string): string {
  const choices = [
    ...(only === undefined ? [] : [` Only ${only.join(', ')}.`]),
    ...(fs.statfsSync(directory).type === TMPFS ? [IN_MEMORY] : []),
  ];
  return `Medians of ${counted(rounds, 'round')} of ${seconds} s, one server at a time, ratios round by round; sent by ${client} from one address, so with --rate-limit 0.${choices.join('')}`;
}

async function runSections(options: Chosen, directory: string, run: Circumstances): Promise<void> {
  const { short, full } = VENUE_SECONDS;
  const venueSeconds = options.venueSeconds ?? (options.full ? full : short);
  const ground = new Ground({ ...options, venueSeconds }, directory);
  const order = SECTIONS.map(({ name }) => name);
  const asked = options.section ?? order;
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
