import type { Command } from 'commander';
import { json } from '../options/optionParsers.ts';

const HELP = `
The exit status is 0 where all is well, 1 where something needs a person or the
daemon does not run, and 3 where there is no database.

Examples:
  courtd status                  what is wrong, and every camera
  courtd status --watch          the same, every second; q ends it
  courtd status --json | jq -r '.problems[].message'`;

export function addStatus(program: Command): void {
  program
    .command('status')
    .description(
      'show how the box is in one screen: what is wrong and what to do, every camera, disk, backup',
    )
    .addOption(json())
    .option('--watch', 'redraw in place until q is pressed')
    .addHelpText('after', HELP)
    .action(async ({ json: isJson, watch }, command) => {
      if (isJson && watch) {
        command.error('error: --json and --watch do not go together: give one of them.', { exitCode: 2 });
      }
      if (watch && !process.stdout.isTTY) {
        command.error('error: --watch needs a terminal: leave it out, or use --json.', { exitCode: 2 });
      }
      await (await import('./status.ts')).status(command.optsWithGlobals());
    });
}
