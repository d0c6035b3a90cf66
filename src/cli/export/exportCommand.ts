import { type Command, Option } from 'commander';
import { EVENT_TYPES } from '../../protocol/eventTypes.ts';
import type { Day } from '../../session/export/exportDay.ts';
import type { ManyOptions } from '../../session/export/sessionFiles.ts';
import type { ExportOptions } from '../../session/export/writeSession.ts';
import { notEmpty } from '../options/optionParsers.ts';
import { parseDay, parseTime, TIMES_HELP } from '../options/times.ts';
import { type JsonOption, Progress, printJson, printTable } from '../terminal/output.ts';

interface CommandOptions extends ExportOptions, JsonOption {
  readonly all?: boolean;
  readonly day?: Day;
  readonly output?: string;
  readonly describe?: boolean;
}

const HELP = `
CSV is for programs. A spreadsheet that opens one takes a cell that begins with
=, +, - or @ for a formula, 0042 for 42 and 12e5 for 1200000: for Excel and the
like write --format xlsx, where a text stays a text. It reads the current
revision of each event: bounces, hits and speeds have a row each, positions and
identities are counted by player. Times are in UTC; it prints on A4 across.

${TIMES_HELP}

Examples:
  courtd export match-17 -o match-17.csv
  courtd export match-17 --format xlsx -o match-17.xlsx
  courtd export --day 2026-03-14 --format parquet -o 2026-03-14/
  courtd export --all --received-from 2026-03-14 --format parquet -o lake/`;

export function addExport(program: Command): void {
  const time = (flags: string, description: string) => new Option(flags, description).argParser(parseTime);
  program
    .command('export')
    .description(
      'export a session, every session of a day or all, in order of eot: the events that are stored when it starts',
    )
    .argument('[session]', 'the session_id')
    .option(
      '--day <date>',
      'every session with an event on this day, in local time: each whole, in a file of its own in the directory -o',
      parseDay,
    )
    .option(
      '--all',
      'every session, or with --received-from every one of which an event was received since: each whole, as day=YYYY-MM-DD/SESSION.FORMAT in the directory -o',
    )
    .addOption(
      new Option(
        '--format <format>',
        'csv and ndjson for programs, xlsx for spreadsheets, parquet for analysis',
      )
        .choices(['csv', 'ndjson', 'xlsx', 'parquet'])
        .default('csv'),
    )
    .option('--current', 'only the highest revision of each event')
    .addOption(new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES))
    .option('--court <id>', 'only events of this court_id')
    .addOption(time('--from <time>', 'only events with this eot or a later one'))
    .addOption(time('--to <time>', 'only events with an earlier eot'))
    .addOption(time('--received-from <time>', 'only events received at this time or later'))
    .addOption(time('--received-to <time>', 'only events received before this time'))
    .option(
      '--with-received',
      'NDJSON: {"received_at": …, "event": …} instead of the event alone; CSV and Parquet always have received_at',
    )
    .option(
      '-o, --output <file>',
      'the file to write, which appears when it is complete; with --day and --all, a directory',
      notEmpty,
    )
    .option('--describe', 'only print the columns, with unit, origin and meaning; takes no session')
    .option('--json', 'with --describe: print JSON, for programs')
    .addHelpText('after', HELP)
    .action(async (session: string | undefined, _options, command: Command) => {
      const options = command.optsWithGlobals<CommandOptions>();
      const misuse = misuseOf(session, options);
      if (misuse !== undefined) command.error(`error: ${misuse}`, { exitCode: 2 });
      if (options.describe === true) return describe(options);
      const { exportSession } = await import('./export.ts');
      if (session !== undefined) return exportSession(session, options);
      const many = options as ManyOptions;
      if (options.day === undefined)
        return (await import('../../session/export/exportAll.ts')).exportAll(many, new Progress());
      return (await import('../../session/export/exportDay.ts')).exportDay(options.day, many, new Progress());
    });
}

/** @returns a sentence about options that contradict each other or are missing. */
function misuseOf(session: string | undefined, options: CommandOptions): string | undefined {
  const { all, day, from, to, receivedFrom, receivedTo, output, describe, json } = options;
  const many = all === true ? '--all' : day === undefined ? undefined : '--day';
  if (describe === true) {
    if (session !== undefined) return '--describe takes no session: leave it out.';
    return output === undefined ? undefined : '--describe prints to standard output: leave out -o.';
  }
  if (json === true) return '--json goes with --describe: --format ndjson writes the events as JSON.';
  if (session === undefined && many === undefined) {
    return 'name a session, or a day with --day, or take all with --all.';
  }
  if (session !== undefined && many !== undefined) return `name a session or give ${many}, not both.`;
  if (all === true && day !== undefined) return 'give --day or --all, not both.';
  if (many !== undefined && output === undefined) {
    return `${many} writes a file for each session: name their directory with -o DIR/.`;
  }
  if (many !== undefined && (from ?? to) !== undefined) {
    return `${many} exports whole sessions: leave out --from and --to, or name a session.`;
  }
  if (all === true && (options.type ?? options.court) !== undefined) {
    return '--all exports whole sessions: leave out --type and --court, or name a session.';
  }
  const isEmpty = (from?: bigint, to?: bigint) => from !== undefined && to !== undefined && from > to;
  if (isEmpty(from, to)) return '--to must not be earlier than --from: there would be nothing to export.';
  if (isEmpty(receivedFrom, receivedTo)) {
    return '--received-to must not be earlier than --received-from: there would be nothing to export.';
  }
  return undefined;
}

/** `courtd export --describe`: the data dictionary. Needs no database. */
async function describe({ json }: JsonOption): Promise<void> {
  const { DICTIONARY, dictionaryEntries } = await import('../../session/export/columns.ts');
  if (json === true) return printJson(dictionaryEntries());
  printTable(
    ['column', 'unit', 'from', 'meaning'],
    DICTIONARY.map(({ name, unit, from, meaning }) => [name, unit ?? '', from, meaning]),
  );
}
