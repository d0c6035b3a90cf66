import { type Command, Option } from 'commander';
import { COURTS, type CourtName } from '../../protocol/courtLines.ts';
import { reportOf } from '../../session/report/reportPage.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { sessionId } from '../../store/read/sessions.ts';
import { output } from '../options/optionParsers.ts';
import { outputSink, say } from '../terminal/output.ts';

export function define(command: Command): void {
  const lines = new Option('--court-lines <court>', 'the lines that the maps show');
  command
    .argument('<session>')
    .addOption(lines.choices(Object.keys(COURTS)).default('pickleball'))
    .addOption(output('the HTML file to write'))
    .addHelpText('after', '\nExample:\n  courtd report match-17 --court-lines badminton -o match-17.html')
    .action((session, _options, command) => report(session, command.optsWithGlobals()));
}

interface ReportOptions extends DataOption {
  readonly output?: string;
  readonly courtLines: CourtName;
}

async function report(name: string, { output, courtLines, ...options }: ReportOptions): Promise<void> {
  await withDatabase(options, async (db) => {
    // Before the session is read, which may take a minute: an unwritable file is reported at once.
    const id = sessionId(db, name);
    const sink = outputSink(output);
    const damage = new Damage();
    await sink.write(reportOf(db, id, courtLines, damage));
    sink.commit();
    if (sink.place !== undefined) say(`Report written to ${sink.place}.`);
    damage.assertNone();
  });
}
