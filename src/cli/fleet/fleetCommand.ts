import { type Command, InvalidArgumentError, Option } from 'commander';
import { integer, json, notEmpty, parseBox } from '../options/optionParsers.ts';
import { addOrder, refuseMisorder } from '../options/orderOptions.ts';

/** `courtd fleet`: for headquarters, which needs no box and no database. */
export function addFleet(program: Command): void {
  const fleet = program
    .command('fleet')
    .description('at headquarters: the log of every box, in NATS JetStream')
    .addHelpText('after', HELP);
  const add = (name: string, description: string, example: string) =>
    fleet
      .command(name)
      .description(description)
      .addHelpText('after', `\nExample:\n  courtd fleet ${name} ${example}`)
      .addOption(new Option('--creds <file>', 'a NATS credentials file').env('COURTD_FLEET_CREDS'))
      .addOption(
        new Option('--ca <file>', "the CA certificates for the servers' certificates").env('COURTD_FLEET_CA'),
      );
  const verb = (...what: Parameters<typeof add>) =>
    add(...what).argument(
      '<url>',
      'nats://HOST:PORT or tls://HOST:PORT; several servers separated by commas',
    );
  verb(
    'init',
    "make the fleet's streams, where they are not there yet",
    'nats://hq-1:4222,nats://hq-2:4222,nats://hq-3:4222',
  ).action(async (url, _options, command) =>
    (await import('./fleet.ts')).init(url, command.optsWithGlobals()),
  );
  verb(
    'check',
    'look whether headquarters keeps what it acknowledges, and whether every log is whole',
    'nats://hq-1:4222 --monitor http://hq-1:8222',
  )
    .option('--monitor <urls>', "the servers' monitoring ports, separated by commas", parseMonitors)
    .addOption(json())
    .action(async (url, _options, command) =>
      (await import('./fleet.ts')).check(url, command.optsWithGlobals()),
    );
  verb(
    'status',
    'show every box, the worst first: its last status, how far behind, silent since when',
    'nats://hq-1:4222',
  )
    .addOption(json())
    .action(async (url, _options, command) =>
      (await import('./status.ts')).status(url, command.optsWithGlobals()),
    );
  verb(
    'retire',
    'forget the status of a box that ships no more; its events stay',
    'nats://hq-1:4222 --box venue-7',
  )
    .requiredOption('--box <name>', 'the box', parseBox)
    .action(async (url, _options, command) =>
      (await import('./fleet.ts')).retire(url, command.optsWithGlobals()),
    );
  addImport(
    add(
      'import',
      'carry the copy of a box, such as on a USB stick, to headquarters: what is not there yet',
      '/media/copy/venue-7 nats://hq-1:4222',
    ),
  );
  const tail = verb(
    'tail',
    'print the events of every box, in the order of its log, one JSON object a line',
    'nats://hq-1:4222 --box venue-7 --after 123456',
  )
    .option('--box <name>', 'only the events of this box', parseBox)
    .option('--after <seq>', 'only events after this one of their box', integer(0, Number.MAX_SAFE_INTEGER))
    .option('--follow', 'keep printing new events, until it is ended');
  addOrder(tail)
    .option('--json', 'the output without this option is the same')
    .action(async (url, _options, command) => {
      refuseMisorder(command);
      await (await import('./fleet.ts')).tail(url, command.optsWithGlobals());
    });
}

/** The URL stands behind the copies, as a target does: commander has a list of arguments only as the last. */
function addImport(command: Command): void {
  command
    .usage('[options] <dir...> <url>')
    .argument(
      '<dir...>',
      'the copy of a box, or the directory of several; the last is the URL',
      (place: string, places: string[] = []) => [...places, notEmpty(place)],
    )
    .option('--allow-holes', 'go on where events are missing in the copy')
    .addOption(json())
    .action(async (places, _options, command) =>
      (await import('./importCopies.ts')).importCopies(places, command.optsWithGlobals()),
    );
}

const HELP = `
FLEET.md is the guide for headquarters.

Examples:
  courtd fleet init nats://hq-1:4222
  courtd fleet check nats://hq-1:4222 --monitor http://hq-1:8222
  courtd fleet status nats://hq-1:4222`;

function parseMonitors(text: string): string[] {
  const urls = text.split(',').map((url) => url.trim());
  if (urls.every((url) => /^https?:\/\/[^/\s]/.test(url) && URL.canParse(url))) return urls;
  throw new InvalidArgumentError('Give http://HOST:PORT, several separated by commas.');
}
