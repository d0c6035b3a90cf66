import type { Command } from 'commander';
import { readBoxes } from '../../fleet/headquarters/boxes.ts';
import { createStreams } from '../../fleet/headquarters/init.ts';
import { readEvents } from '../../fleet/headquarters/readEvents.ts';
import { withHeadquarters } from '../../fleet/headquarters/withHeadquarters.ts';
import { integer, json, parseBox } from '../options/optionParsers.ts';
import { type JsonOption, printList, printText, say, stdoutSink } from '../terminal/output.ts';

const HELP = `
FLEET.md is the guide for headquarters.

Examples:
  courtd fleet init nats://hq-1:4222
  courtd fleet status nats://hq-1:4222`;

const VARIABLES = `
The variable COURTD_FLEET_CREDS names a NATS credentials file, COURTD_FLEET_CA a
file with the certificate of the authority to trust.
`;

/** `courtd fleet`: for headquarters, which needs no box and no database. */
export function define(fleet: Command): void {
  fleet.addHelpText('after', HELP);
  const verb = (name: string, description: string, example: string) =>
    fleet
      .command(name)
      .description(description)
      .argument('<url>', 'nats://HOST:PORT or tls://HOST:PORT; several servers separated by commas')
      .addHelpText('after', `${VARIABLES}\nExample:\n  courtd fleet ${name} ${example}`);
  verb(
    'init',
    'create the stream and the bucket of a fleet, if they do not exist',
    'nats://hq-1:4222,nats://hq-2:4222,nats://hq-3:4222',
  ).action(init);
  verb('status', 'show one line per box: its state, how far behind, when last seen', 'nats://hq-1:4222')
    .addOption(json())
    .action((url, _options, command) => status(url, command.optsWithGlobals()));
  verb(
    'tail',
    'print and verify the events of every box, in the order of its log, as JSON lines',
    'nats://hq-1:4222 --box venue-7 --after 123456',
  )
    .option('--box <name>', 'only the events of this box', parseBox)
    .option('--after <seq>', 'only events after this one of their box', integer(0, Number.MAX_SAFE_INTEGER))
    .action((url, _options, command) => tail(url, command.optsWithGlobals()));
}

/** `courtd fleet init`. */
async function init(url: string): Promise<void> {
  const made = await withHeadquarters(url, createStreams);
  for (const { name, outcome, copies } of made) printText(`${name}: ${outcome}, copies: ${copies}\n`);
  say(
    'courtd: Every server must have "sync_interval: always" in its block jetstream. Without it a power cut can lose events that ' +
      'headquarters has acknowledged and a box has deleted.',
  );
}

/** `courtd fleet status`: one line per box, the one that has been silent for longest first. */
async function status(url: string, options: JsonOption): Promise<void> {
  const boxes = await withHeadquarters(url, readBoxes);
  printList(boxes, options, 'No box has sent its status yet.');
}

/** `courtd fleet tail`: ends after what was there when it began. */
function tail(url: string, { box, after = 0 }: { box?: string; after?: number }): Promise<void> {
  return withHeadquarters(url, async (nc) => {
    const output = stdoutSink();
    for await (const lines of readEvents(nc, box, after)) await output.write([...lines].join(''));
  });
}
