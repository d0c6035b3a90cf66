import { type Command, Option } from 'commander';
import { notEmpty } from '../options/optionParsers.ts';

const EXAMPLE = `
Example:
  courtd report match-17 --court-lines badminton -o match-17.html`;

export function addReport(program: Command): void {
  program
    .command('report')
    .description('write a report of a session as one HTML page: landings, speeds, where players stood')
    .argument('<session>', 'the session_id')
    .addOption(
      new Option('--court-lines <court>', 'the lines that the maps show')
        .choices(['pickleball', 'badminton', 'tennis', 'padel', 'none'])
        .default('pickleball'),
    )
    .addOption(
      new Option(
        '--y-from <end>',
        'where y_ft begins: at the near base line, or at the net on either side of it (default: as the positions tell)',
      ).choices(['base', 'net']),
    )
    .option('-o, --output <file>', 'the HTML file to write, which appears when it is complete', notEmpty)
    .addHelpText('after', EXAMPLE)
    .action(async (session: string, _options, command: Command) => {
      await (await import('./report.ts')).report(session, command.optsWithGlobals());
    });
}
