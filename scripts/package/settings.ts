import type { Command, Option } from 'commander';
import { commandsOf, defaultOf } from './commands.ts';

const PORT_NOTE = "Not under systemd: there it is the socket's, see above.";

/** What is different from the command line where systemd starts courtd. */
const UNDER_SYSTEMD: Readonly<Record<string, readonly string[]>> = {
  COURTD_DATA: [
    'Another one must belong to courtd:courtd with mode 2770, so that what members of the group make is open to the daemon, and',
    'the units may write to it only after "sudo systemctl edit courtd.service",',
    'courtd-backup.service and courtd-prune.service, each with the lines  [Service]  ReadWritePaths=DIR',
  ],
  COURTD_HOST: [PORT_NOTE],
  COURTD_PORT: [PORT_NOTE],
};

const HEAD = `# The settings of courtd. Each stands here with its default. To change one, take away the "#" and write another value;
# then: sudo systemctl restart courtd.service
#
# The address and the port are the socket's, which systemd holds open across restarts and upgrades. For port 8080:
#   sudo systemctl edit courtd.socket       with the lines  [Socket]  ListenStream=  ListenStream=0.0.0.0:8080
#   sudo systemctl stop courtd.service && sudo systemctl restart courtd.socket && sudo systemctl start courtd.service
`;

/** Of the timers (systemd/courtd-backup.service, systemd/courtd-prune.service): nothing is restarted for them. */
const TIMERS = `
# The nightly backup, off until this names a directory that the user courtd may write to: /var/backups/courtd is one; a disk
# below /mnt, /media or /srv that the box does not lose together with its own is better.
#COURTD_BACKUP_DIR=

# How many backups are kept.
#COURTD_BACKUP_KEEP=7

# Retention, every night, off until set, and off with 0: events are removed so long after they were received, such as 365d.
#COURTD_KEEP=

# The same for player positions alone, which are 95 % of all events, such as 30d.
#COURTD_KEEP_POSITIONS=
`;

/** /etc/courtd/courtd.env: every variable that `courtd serve` and the timers read, commented out, with its default. */
export function settingsOf(program: Command): string {
  const commands = commandsOf(program);
  const serve = commands.filter(({ path }) => path.length === 0 || path.join() === 'serve');
  const options = serve.flatMap((command) => command.options.filter((option) => option.envVar));
  return `${HEAD}${options.map(setting).join('')}${TIMERS}`;
}

function setting(option: Option): string {
  const choices = option.argChoices ? `: ${option.argChoices.join(', ')}` : '';
  const meaning = `${option.description[0]!.toUpperCase()}${option.description.slice(1)}${choices}.`;
  const comments = [meaning, ...(UNDER_SYSTEMD[option.envVar!] ?? [])].map((line) => `# ${line}\n`);
  return `\n${comments.join('')}#${option.envVar}=${defaultOf(option) ?? ''}\n`;
}
