import type { Command } from 'commander';
import { json, notEmpty } from '../options/optionParsers.ts';

const HELP = `
A line is one event, as a camera sends it. Exports in NDJSON are such files,
and so is what a camera has kept. Around the event may stand what
--with-received and "tail --json" add: it is left out, and the time of receipt
is that of the import. What is stored already is ignored, so a file can be
imported again. Where this box takes events of one venue only (COURTD_VENUE),
that holds here too, while the daemon is down as well.

Examples:
  courtd import --dry-run session-7.ndjson.gz
  ssh old-box courtd export session-7 --format ndjson | courtd import -`;

export function addImport(program: Command): void {
  program
    .command('import')
    .description('store the events of files, checked as those that cameras send, each once')
    .argument(
      '<file...>',
      'NDJSON, plain or gzip; - is standard input',
      (file: string, files: string[] = []) => [...files, notEmpty(file)],
    )
    .option('--dry-run', 'check every line and store nothing')
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (files, _options, command) =>
      (await import('./importFiles.ts')).importFiles(files, command.optsWithGlobals()),
    );
}
