import { VARIABLES } from '../../src/cli/options/environmentVariables.ts';
import type { CommandEntry } from './commands.ts';

const NAME = 'courtd - the box in a sports venue that court cameras send their events to';

const DESCRIPTION = `"courtd serve" stores the events that court cameras send to its port, each once, and answers 202 when
they are on the disk. The other commands read and maintain what is stored. They need root, or a member of the group courtd: run
"sudo usermod -aG courtd USER", then log in again. Data goes to standard output, messages go to standard error. A name that begins
with "-" needs "--" before it, as in "courtd export -- -x17".`;

const ENVIRONMENT = `An option takes precedence over its variable. An empty variable counts as unset, and an unknown one is
reported. The guides describe them: ${VARIABLES.join(', ')}.`;

const EXIT_STATUS = `0 is success. 1 is a failure: standard error says what happened and what to do. 2 is wrong usage. 3 is
"courtd status" without a database.`;

const FILES = `/var/lib/courtd has the database and control.sock, through which commands ask the daemon. /etc/courtd/courtd.env has
the settings. /usr/share/doc/courtd/systemd/README.md is the operator's guide.`;

/** @param commands of a program with all its verbs loaded. @returns the man page, with what each `--help` prints. */
export function manualOf([program, ...commands]: readonly CommandEntry[]): string {
  return [
    `.TH COURTD 1 "" "courtd ${program!.command.version()}"\n`,
    section('NAME', NAME),
    section('SYNOPSIS', `courtd ${program!.command.usage()}`),
    section('DESCRIPTION', DESCRIPTION),
    '.SH COMMANDS\n',
    ...commands.map(commandText),
    section('ENVIRONMENT', ENVIRONMENT),
    section('EXIT STATUS', EXIT_STATUS),
    section('FILES', FILES),
  ].join('');
}

/** @returns nothing for a command that only leads to others. */
function commandText({ command, children, options }: CommandEntry): string {
  if (children.length > 0 && options.length === 0) return '';
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => 80 }).outputHelp();
  const [, usage, text] = /^Usage: (.*?)\n\n(.*)$/s.exec(help)!;
  // Without its indentation the page is as wide as the help: 80 columns.
  return `.SS "${roff(usage!)}"\n.nf\n.in 0\n${roff(text!.trim())}\n.fi\n`;
}

function section(title: string, text: string): string {
  return `.SH "${title}"\n${roff(text)}\n`;
}

function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(/^(?=[.'])/gm, '\\&');
}
