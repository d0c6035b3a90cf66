import type { Command } from 'commander';
import { json, notEmpty } from '../options/optionParsers.ts';

const HELP = `
A line is one event, as it is sent; an export in NDJSON and the buffer of a camera are
such files. What is stored already is ignored, so a file can be imported again.

  courtd export session-7 --format ndjson | gzip > session-7.ndjson.gz
  courtd import --dry-run session-7.ndjson.gz`;

export function addImport(program: Command): void {
  program
    .command('import')
    .description('store the events of files, checked as those that cameras send, each once')
    .argument('<file...>', 'NDJSON, plain or gzip', (file: string, files: string[] = []) => [
      ...files,
      notEmpty(file),
    ])
    .option('--dry-run', 'check every line and store nothing')
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (files, _options, command) =>
      (await import('./importFiles.ts')).importFiles(files, command.optsWithGlobals()),
    );
}
