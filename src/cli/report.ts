import { type Command, Option } from 'commander';
import type { CourtName } from '../protocol/courtLines.ts';
import type { YFrom } from '../session/analysis/mapFrame.ts';
import type { DataOption } from '../store/open/withDatabase.ts';
import { notEmpty } from './options/optionParsers.ts';
import { Progress, say, stdoutSink } from './terminal/output.ts';

const EXAMPLE = `
Example:
  courtd report match-17 --court-lines badminton -o match-17.html`;

export function addReport(program: Command): void {
  program
    .command('report')
    .description(
      'write a report of a session as one HTML page: by player, with shots, landings, speeds, rallies',
    )
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
      await report(session, command.optsWithGlobals());
    });
}

interface ReportOptions extends DataOption {
  readonly output?: string;
  readonly courtLines: CourtName;
  readonly yFrom?: YFrom;
}

async function report(name: string, { output, courtLines, yFrom, ...options }: ReportOptions): Promise<void> {
  const { fileSink } = await import('../base/fileSink.ts');
  const { reportOf } = await import('../session/report/report.ts');
  const { withDatabase } = await import('../store/open/withDatabase.ts');
  const { Damage } = await import('../store/read/damage.ts');
  const { sessionId } = await import('../store/read/sessions.ts');
  const write = async (db: Parameters<typeof reportOf>[0]) => {
    // Before the session is read, which may take a minute: an unwritable file is reported at once.
    const id = sessionId(db, name);
    const sink = output === undefined ? stdoutSink() : fileSink(output);
    const damage = new Damage();
    const progress = new Progress();
    const read = (events: number) => progress.show(() => `${events} events read`);
    const page = reportOf(db, id, { lines: courtLines, yFrom }, damage, read);
    progress.clear();
    await sink.write(page);
    sink.commit();
    if (output !== undefined) {
      say(`Report written to ${output}${sink.replaces ? '; the existing file was replaced' : ''}.`);
    }
    damage.assertNone();
  };
  await withDatabase(options, write);
}
