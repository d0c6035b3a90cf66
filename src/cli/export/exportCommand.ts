import { type Command, Option } from 'commander';
import { EVENT_TYPES } from '../../protocol/event.ts';
import { notEmpty } from '../options/optionParsers.ts';
import { parseDay, parseTime, TIMES_HELP } from '../options/times.ts';
import type { ExportOptions } from './exportSession.ts';

/** `courtd export`, of one session or of a day. */
export function addExport(program: Command): void {
  const time = (flags: string, description: string) => new Option(flags, description).argParser(parseTime);
  program
    .command('export')
    .description(
      'write a session, or each session of a day, in the order of eot: what was stored when it began',
    )
    .argument('[session]', 'the session_id')
    .addOption(
      new Option(
        '--day <date>',
        'every session with an event on this day of the box, whole, each to a file in the directory -o',
      ).argParser(parseDay),
    )
    .addOption(new Option('--format <format>', 'how to write it').choices(['csv', 'ndjson']).default('csv'))
    .option('--current', 'only the highest revision of each event')
    .addOption(new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES))
    .option('--court <id>', 'only events of this court_id')
    .addOption(time('--from <time>', 'only events from this eot on'))
    .addOption(time('--to <time>', 'only events before this eot'))
    .addOption(time('--received-from <time>', 'only events that came at this time or later'))
    .addOption(time('--received-to <time>', 'only events that came before this time'))
    .option(
      '--with-received',
      'NDJSON: {"received_at": …, "event": …} instead of the event alone; CSV has it always',
    )
    .addOption(
      new Option(
        '-o, --output <file>',
        'write to a file, which appears when it is complete; with --day, a directory',
      ).argParser(notEmpty),
    )
    .addHelpText('after', `\n${TIMES_HELP}`)
    .action(async (session: string | undefined, _options, command: Command) => {
      const options = command.optsWithGlobals<ExportOptions>();
      const fault = faultOf(session, options);
      if (fault !== undefined) command.error(`error: ${fault}`, { exitCode: 2 });
      if (session === undefined) await (await import('./exportDay.ts')).exportDay(options);
      else await (await import('./exportSession.ts')).exportSession(session, options);
    });
}

/** @returns what does not go together, in a sentence. */
function faultOf(session: string | undefined, options: ExportOptions): string | undefined {
  const { day, from, to, receivedFrom, receivedTo, output } = options;
  if (session === undefined && day === undefined) return 'name a session, or a day with --day.';
  if (session !== undefined && day !== undefined) return 'name a session or a day with --day, not both.';
  if (day !== undefined && output === undefined) {
    return '--day writes a file for each session: say with -o DIR/ where to.';
  }
  if (day !== undefined && (from ?? to) !== undefined) {
    return '--day takes whole sessions: leave out --from and --to, or name a session.';
  }
  const isEmpty = (from?: bigint, to?: bigint) => from !== undefined && to !== undefined && from > to;
  if (isEmpty(from, to)) return '--to must not be earlier than --from: there would be nothing to export.';
  if (isEmpty(receivedFrom, receivedTo)) {
    return '--received-to must not be earlier than --received-from: there would be nothing to export.';
  }
  return undefined;
}
