import type { Command, Option } from 'commander';
import { commandsOf, defaultOf } from './commands.ts';

const PORT_NOTE = 'Not used under systemd, where the socket sets it: see above.';

/** Notes on the options that work differently under systemd. */
const UNDER_SYSTEMD: Readonly<Record<string, readonly string[]>> = {
  COURTD_DATA: [
    'Another directory must belong to courtd:courtd with mode 2770, so that the daemon may use files that members of the group',
    'create there. The units may write to it only after "sudo systemctl edit" of courtd, courtd-backup, courtd-copy and courtd-feed@,',
    'each with the lines  [Service]  ReadWritePaths=DIR',
  ],
  COURTD_RUN_DIR: ['Set by the units: /run/courtd, which is in memory and which everybody may read.'],
  COURTD_HOST: [PORT_NOTE],
  COURTD_PORT: [PORT_NOTE],
};

const HEAD = `# The settings of courtd, each with its default. To change one, remove the "#" and write another value;
# then: sudo systemctl restart courtd.service
#
# The socket sets the address and the port, and systemd keeps it open across restarts and upgrades. For port 8080:
#   sudo systemctl edit courtd.socket       with the lines  [Socket]  ListenStream=  ListenStream=0.0.0.0:8080
#   sudo systemctl stop courtd.service && sudo systemctl restart courtd.socket && sudo systemctl start courtd.service
`;

/** The variables of systemd/courtd-backup.service, which reads them again every night. */
const BACKUP = `
# The nightly backup, off until this names a directory that the user courtd may write to, such as /var/backups/courtd. One on
# another disk, below /mnt, /media or /srv, is better: it survives the disk of the box.
#COURTD_BACKUP_DIR=

# How many backups the directory keeps.
#COURTD_BACKUP_KEEP=7
# A file with the first token, for boxes that are set up from an image: see "LoadCredential" in courtd.service.
#COURTD_TOKEN_FILE=
`;

/** The variables of systemd/courtd-copy.service, courtd-ship.service, and of retention, which waits for both. */
const SHIP = `
# A directory on another disk for a second copy; see "A second copy" in the guide. Then: sudo systemctl restart courtd-copy courtd
#COURTD_COPY_DIR=
# Where events are shipped to, off until set: nats:// or tls://, several servers with commas between; see "Shipping to headquarters" in
# the operator's guide. Then: sudo systemctl restart courtd-ship courtd
#COURTD_SHIP_URL=
# The name of this box there, which no other has: 1 to 32 of a to z, 0 to 9 and "-".
#COURTD_SHIP_BOX=
# Players as-sent, or under a pseudonym that only this box can link with them.
#COURTD_SHIP_PLAYERS=as-sent
# How long retention spares events that are not shipped or copied yet.
#COURTD_SHIP_HOLD=30d
# The unit sets it: the socket of courtd-feed.socket.
#COURTD_SHIP_FEED=/run/courtd-feed.sock
# The unit sets it, to a copy of /etc/courtd/ship.creds: NATS credentials.
#COURTD_SHIP_CREDS=
# The unit sets it, to a copy of /etc/courtd/ship.ca: the certificate of the authority to trust.
#COURTD_SHIP_CA=
`;

/** The variables of systemd/courtd-alert.service. */
const ALERT = `
# The box reports new and solved problems to these. Off until one is set, and "sudo systemctl edit courtd-alert" allows the
# addresses: see "Alerts" in the operator's guide. Then: sudo systemctl restart courtd-alert
# An address to which each message is posted as JSON, such as the webhook of a chat.
#COURTD_ALERT_URL=
# A command of /bin/sh that gets each message on its standard input.
#COURTD_ALERT_COMMAND=
# An address that is fetched every 5 min while the box is well: a service that watches it knows when the box is gone.
#COURTD_PING_URL=
`;

/** /etc/courtd/courtd.env: every variable that `courtd serve`, the backup timer and the shipper read, commented out, with its default. */
export function settingsOf(program: Command): string {
  const commands = commandsOf(program);
  const serve = commands.filter(({ path }) => path.length === 0 || path.join() === 'serve');
  const options = serve.flatMap((command) => command.options.filter((option) => option.envVar));
  return `${HEAD}${options.map(setting).join('')}${BACKUP}${SHIP}${ALERT}`;
}

function setting(option: Option): string {
  const choices = option.argChoices ? `: ${option.argChoices.join(', ')}` : '';
  const meaning = `${option.description[0]!.toUpperCase()}${option.description.slice(1)}${choices}.`;
  const comments = [meaning, ...(UNDER_SYSTEMD[option.envVar!] ?? [])].map((line) => `# ${line}\n`);
  return `\n${comments.join('')}#${option.envVar}=${defaultOf(option) ?? ''}\n`;
}
