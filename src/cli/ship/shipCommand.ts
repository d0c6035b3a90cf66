import { type Command, Option } from 'commander';
import { json, notEmpty, parseBox } from '../options/optionParsers.ts';

const HELP = `
What is shipped stays on this box as well. Several servers are separated by
commas. A directory gets a copy of the log: COPY.md is its guide.

Examples:
  courtd ship --url file:///media/copy --box venue-7
  courtd ship --url tls://hq.example --box venue-7 --creds ship.creds --once
  courtd ship status`;

/** `courtd ship`, `ship status`, `ship epoch` and `ship feed`. */
export function addShip(program: Command): void {
  const ship = program
    .command('ship')
    .description('ship events onward to headquarters, or to a directory, in the order of arrival, each once')
    .addOption(
      setting('url', 'url', 'the NATS servers of headquarters, nats:// or tls://, or a directory, file://'),
    )
    .addOption(
      setting('box', 'name', 'the name of this box there: 1 to 32 of a to z, 0 to 9 and "-"').argParser(
        parseBox,
      ),
    )
    .addOption(setting('creds', 'file', 'NATS credentials'))
    .addOption(setting('ca', 'file', 'the CA certificate to trust for TLS'))
    .addOption(
      setting('players', 'how', 'how headquarters gets the players: "pseudonym" is a random name for each')
        .choices(['as-sent', 'pseudonym'])
        .default('as-sent'),
    )
    .addOption(setting('feed', 'socket', 'read the events from this feed instead of the database'))
    .option('--once', 'end when all stored events have been shipped')
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (_options, command) => (await import('./ship.ts')).ship(command.optsWithGlobals()));
  ship
    .command('status')
    .description('show how far shipping has got, whether a shipper is running or not')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd ship status --json | jq .behind_events')
    .action(async (_options, command) => (await import('./status.ts')).shipStatus(command.optsWithGlobals()));
  ship
    .command('epoch')
    .description('show the epoch of the log of this box, or begin a new one')
    .option('--new', 'begin a new one: after a clone, or where this box is fenced')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  sudo courtd ship epoch --new')
    .action(async (_options, command) => (await import('./status.ts')).epoch(command.optsWithGlobals()));
  ship
    .command('feed')
    .description('serve events to a shipper that cannot read the database, as courtd-feed.service does')
    .addHelpText(
      'after',
      '\nExample:\n  sudo systemctl start courtd-feed.socket   starts "courtd ship feed" when asked',
    )
    .action(async (_options, command) => (await import('./feed.ts')).feed(command.optsWithGlobals()));
}

/** COURTD_SHIP_URL and so on. */
function setting(name: string, value: string, description: string): Option {
  return new Option(`--${name} <${value}>`, description)
    .env(`COURTD_SHIP_${name.toUpperCase()}`)
    .argParser(notEmpty);
}
