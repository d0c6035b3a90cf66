import { type Command, Option } from 'commander';
import { integer, json, parseBox } from '../options/optionParsers.ts';

/** `courtd fleet`: for headquarters, which needs no box and no database. */
export function addFleet(program: Command): void {
  const fleet = program
    .command('fleet')
    .description('at headquarters: the log of every box, in NATS JetStream')
    .addHelpText(
      'after',
      '\nFLEET.md is the guide for headquarters.\n\nExamples:\n  courtd fleet init nats://hq-1:4222\n  courtd fleet status nats://hq-1:4222',
    );
  const verb = (name: string, description: string, example: string) =>
    fleet
      .command(name)
      .description(description)
      .argument('<url>', 'nats://HOST:PORT or tls://HOST:PORT; several servers separated by commas')
      .addHelpText('after', `\nExample:\n  courtd fleet ${name} ${example}`)
      .addOption(new Option('--creds <file>', 'a NATS credentials file').env('COURTD_FLEET_CREDS'))
      .addOption(
        new Option('--ca <file>', "the CA certificates for the servers' certificates").env('COURTD_FLEET_CA'),
      );
  const load = () => import('./fleet.ts');
  verb(
    'init',
    'create the stream and the bucket of a fleet, if they do not exist',
    'nats://hq-1:4222,nats://hq-2:4222,nats://hq-3:4222',
  ).action(async (url, _options, command) => (await load()).init(url, command.optsWithGlobals()));
  verb(
    'status',
    'show one line per box: its state, how far behind, when it was last seen',
    'nats://hq-1:4222',
  )
    .addOption(json())
    .action(async (url, _options, command) => (await load()).status(url, command.optsWithGlobals()));
  verb(
    'tail',
    'print and verify the events of every box, in the order of its log, one JSON object per line',
    'nats://hq-1:4222 --box venue-7 --after 123456',
  )
    .option('--box <name>', 'only the events of this box', parseBox)
    .option('--after <seq>', 'only events after this one of their box', integer(0, Number.MAX_SAFE_INTEGER))
    .action(async (url, _options, command) => (await load()).tail(url, command.optsWithGlobals()));
}
