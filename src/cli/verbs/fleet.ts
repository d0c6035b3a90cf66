import { type Command, Option } from 'commander';
import { shortAgo, shortSpan } from '../../base/units.ts';
import { type BoxRow, readBoxes } from '../../fleet/headquarters/boxes.ts';
import { createStreams } from '../../fleet/headquarters/init.ts';
import { readEvents } from '../../fleet/headquarters/readEvents.ts';
import { type FleetOptions, withHeadquarters } from '../../fleet/headquarters/withHeadquarters.ts';
import { integer, json, parseBox } from '../options/optionParsers.ts';
import { type JsonOption, printJson, printTable, printText, say, stdoutSink } from '../terminal/output.ts';

const HELP = `
FLEET.md is the guide for headquarters.

Examples:
  courtd fleet init nats://hq-1:4222
  courtd fleet status nats://hq-1:4222`;

/** `courtd fleet`: for headquarters, which needs no box and no database. */
export function define(fleet: Command): void {
  fleet.addHelpText('after', HELP);
  const verb = (name: string, description: string, example: string) => {
    const file = (flags: string, what: string, variable: string) =>
      new Option(flags, `${what} (${variable})`).env(variable);
    return fleet
      .command(name)
      .description(description)
      .argument('<url>', 'nats://HOST:PORT or tls://HOST:PORT; several servers separated by commas')
      .addOption(file('--creds <file>', 'a NATS credentials file', 'COURTD_FLEET_CREDS'))
      .addOption(file('--ca <file>', 'the CA certificates of the servers', 'COURTD_FLEET_CA'))
      .addHelpText('after', `\nExample:\n  courtd fleet ${name} ${example}`);
  };
  verb(
    'init',
    'create the stream and the bucket of a fleet, if they do not exist',
    'nats://hq-1:4222,nats://hq-2:4222,nats://hq-3:4222',
  ).action((url, _options, command) => init(url, command.optsWithGlobals()));
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
async function init(url: string, options: FleetOptions): Promise<void> {
  const made = await withHeadquarters(url, options, createStreams);
  for (const { name, outcome, copies } of made) printText(`${name}: ${outcome}, copies: ${copies}\n`);
  say(
    'courtd: every server must have "sync_interval: always" in its block jetstream. Without it a power cut can lose events that ' +
      'headquarters has acknowledged and a box has deleted.',
  );
}

/** `courtd fleet status`: one line per box, the one that has been silent for longest first. */
async function status(url: string, { json, ...options }: FleetOptions & JsonOption): Promise<void> {
  const rows = await withHeadquarters(url, options, readBoxes);
  if (json) return printJson(rows);
  printTable(
    ['BOX', 'STATE', 'SHIPPED', 'NEWEST', 'BEHIND', 'SEEN'],
    rows.map((row) => cellsOf(row, Date.now())),
  );
}

function cellsOf(row: BoxRow, nowMs: number): string[] {
  const { box, state, shipped_seq, newest_seq, behind_events, behind_s, last_seen_at } = row;
  const span = behind_events && behind_s !== null ? ` (${shortSpan(behind_s)})` : '';
  const [shipped, newest, behind] = [shipped_seq, newest_seq, behind_events].map(
    (value) => `${value ?? '-'}`,
  );
  return [box, state ?? '-', shipped!, newest!, `${behind}${span}`, shortAgo(last_seen_at, nowMs)];
}

interface FleetTailOptions extends FleetOptions {
  readonly box?: string;
  readonly after?: number;
}

/** `courtd fleet tail`: ends after what was there when it began. */
function tail(url: string, options: FleetTailOptions): Promise<void> {
  const { box, after = 0 } = options;
  return withHeadquarters(url, options, async (nc) => {
    const output = stdoutSink();
    for await (const lines of readEvents(nc, box, after)) await output.write([...lines].join(''));
  });
}
