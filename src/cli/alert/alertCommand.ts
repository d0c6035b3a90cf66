import { type Command, Option } from 'commander';
import { notEmpty } from '../options/optionParsers.ts';

const HELP = `
Under systemd, courtd-alert.service runs it, off until one of the three is set
in /etc/courtd/courtd.env. "courtd check --alert" sends a test.

Examples:
  COURTD_ALERT_URL=https://chat.example/hook courtd alert --state /var/tmp/alert
  courtd alert --once --state DIR --command 'mail -s courtd me@venue.example'`;

export function addAlert(program: Command): void {
  program
    .command('alert')
    .description('tell somebody whenever the problems of this box change, by a webhook or a command')
    .addOption(alertSetting('url', 'url', 'where each message is posted as JSON', 'COURTD_ALERT_URL'))
    .addOption(
      alertSetting(
        'command',
        'command',
        'what each message is given to, on standard input',
        'COURTD_ALERT_COMMAND',
      ),
    )
    .addOption(
      alertSetting(
        'ping',
        'url',
        'an address that is fetched every 5 min while the box is well',
        'COURTD_PING_URL',
      ),
    )
    .addOption(alertSetting('state', 'dir', 'where to keep what has been told', 'STATE_DIRECTORY'))
    .option('--once', 'look once, tell what is new since the last message, and end')
    .addHelpText('after', HELP)
    .action(async (_options, command) => (await import('./alert.ts')).alert(command.optsWithGlobals()));
}

function alertSetting(name: string, value: string, description: string, variable: string): Option {
  return new Option(`--${name} <${value}>`, description).env(variable).argParser(notEmpty);
}
