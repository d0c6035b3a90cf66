import { setFlagsFromString } from 'node:v8';
import { type Command, Option } from 'commander';
import { OperatorError } from '../../base/operatorError.ts';
import { shellWord } from '../../base/visibleText.ts';
import { DICTIONARY } from '../../session/export/columns.ts';
import { BINARY_FORMATS, FORMATS, type Format } from '../../session/export/encode.ts';
import { exportMany } from '../../session/export/exportMany.ts';
import { type ExportOptions, writeSession } from '../../session/export/writeSession.ts';
import { withDatabase } from '../../store/db/openDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { sessionId } from '../../store/read/sessions.ts';
import { ofType, output } from '../options/optionParsers.ts';
import { parseDay, parseTime, TIMES_HELP } from '../options/times.ts';
import { type JsonOption, outputSink, printList, progress, say } from '../terminal/output.ts';

interface CommandOptions extends Omit<ExportOptions, 'format'>, JsonOption {
  readonly format?: Format;
  readonly since?: bigint;
  readonly until?: bigint;
  readonly day?: ReturnType<typeof parseDay>;
  readonly output?: string;
  readonly describe?: boolean;
}

const HELP = `
${TIMES_HELP}

Examples:
  courtd export match-17 -o match-17.xlsx
  courtd export --day 2026-03-14 --format parquet -o lake/`;

export function define(command: Command): void {
  const time = (flags: string, description: string) => new Option(flags, description).argParser(parseTime);
  const day = new Option('--day <date>', '--since and --until of a local day').argParser(parseDay);
  const ofOne = ['current', 'type', 'court', 'from', 'to'];
  command
    .argument('[session]')
    .addOption(new Option('--format <format>', 'default: as -o ends, or csv').choices(FORMATS))
    .option('--current', 'only the highest revision of each event')
    .addOption(ofType())
    .option('--court <id>', 'only events of this court_id')
    .addOption(time('--from <time>', 'only events with this eot or a later one'))
    .addOption(time('--to <time>', 'only events with an earlier eot'))
    .addOption(time('--since <time>', 'each session that received events since then, whole').conflicts(ofOne))
    .addOption(time('--until <time>', 'with --since: before this time'))
    .addOption(day.conflicts(['since', 'until', ...ofOne]))
    .addOption(output('the file to write; with --since or --day a directory'))
    .addOption(new Option('--describe', 'only print the columns and their meaning').conflicts('output'))
    .option('--json', 'with --describe: print JSON')
    .addHelpText('after', HELP)
    .action(async (session: string | undefined, _options, command: Command) => {
      const given = command.optsWithGlobals<CommandOptions>();
      const options = { ...given, format: given.format ?? formatOf(given.output) };
      if (options.describe === true) return printList(DICTIONARY, options, 'An export has no columns.');
      const misuse = misuseOf(session, options);
      if (misuse !== undefined) command.error(`error: ${misuse}`, { exitCode: 2 });
      // Keeps memory constant: by default the heap may grow far before V8 collects garbage.
      setFlagsFromString('--heap-growing-percent=50');
      if (session !== undefined) return exportSession(session, options);
      const { since = options.day!.since, until = options.day?.until, output = '' } = options;
      return exportMany({ ...options, since, until, output }, progress);
    });
}

const formatOf = (file = '') => FORMATS.find((format) => file.toLowerCase().endsWith(`.${format}`)) ?? 'csv';

/** @returns a sentence about options that are missing. */
function misuseOf(session: string | undefined, options: CommandOptions): string | undefined {
  const { since, until, day, output, json } = options;
  const isMany = (since ?? day) !== undefined;
  if (json === true) return '--json needs --describe. For events as JSON use --format ndjson.';
  if (isMany === (session !== undefined)) return 'give either one session, or several with --since or --day.';
  if (until !== undefined && since === undefined) return '--until needs --since.';
  return isMany && output === undefined ? 'name the directory of the files with -o DIR/.' : undefined;
}

/** `courtd export SESSION` */
async function exportSession(name: string, options: CommandOptions & ExportOptions): Promise<void> {
  const { output, format } = options;
  if (output === undefined && process.stdout.isTTY && BINARY_FORMATS.includes(format))
    throw new OperatorError(
      `A terminal cannot show ${format}. Name a file with -o, such as -o match.${format}.`,
    );
  const damage = new Damage();
  const events = await withDatabase(options, (db) => {
    const one = { session: sessionId(db, name), name };
    return writeSession(db, one, options, damage, outputSink(output), progress);
  });
  damage.assertNone();
  // A court is easily misspelt, and a time given in the wrong time zone.
  if (events === 0)
    say(`No event matched. "courtd session show ${shellWord(name)}" lists its courts, types and times.`);
}
