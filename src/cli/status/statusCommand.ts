import type { Command } from 'commander';
import { json } from '../options/optionParsers.ts';

const HELP = `
The exit status is 0 where all is well, 1 where something needs a person or the
daemon does not run, and 3 where there is no database. With --brief they are
those of a Nagios plugin: 0 all is well, 1 something needs attention,
2 something is wrong, 3 the daemon does not run, or that is not known.

Examples:
  courtd status                  what is wrong, and every camera
  courtd status --watch          the same, every second; q ends it
  courtd status --brief          one line, for Nagios and what speaks as it does
  courtd status --json | jq -r '.problems[].message'`;

export function addStatus(program: Command): void {
  program
    .command('status')
    .description(
      'show how the box is in one screen: what is wrong and what to do, every camera, disk, backup',
    )
    .addOption(json())
    .option('--watch', 'redraw in place until q is pressed')
    .option('--brief', "one line, with a Nagios plugin's exit status")
    .addHelpText('after', HELP)
    .action(async ({ json: isJson, watch, brief }, command) => {
      const given = Object.entries({ json: isJson, watch, brief }).filter(([, isGiven]) => isGiven);
      if (given.length > 1) {
        const names = given.map(([name]) => `--${name}`).join(' and ');
        command.error(`error: ${names} do not go together: give one of them.`, { exitCode: 2 });
      }
      if (watch && !process.stdout.isTTY) {
        command.error('error: --watch needs a terminal: leave it out, or use --json.', { exitCode: 2 });
      }
      await (await import('./status.ts')).status(command.optsWithGlobals());
    });
}
