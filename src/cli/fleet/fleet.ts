import { shortAgo, shortSpan } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { type BoxRow, readBoxes } from '../../fleet/headquarters/boxes.ts';
import { type FleetOptions, withHeadquarters } from '../../fleet/headquarters/connection.ts';
import { createStreams } from '../../fleet/headquarters/init.ts';
import { readEvents } from '../../fleet/headquarters/readEvents.ts';
import { parseServers } from '../../fleet/nats/address.ts';
import { type JsonOption, printJson, printText, say, stdoutSink, tableLine } from '../terminal/output.ts';

/** `courtd fleet init`. */
export async function init(url: string, options: FleetOptions): Promise<void> {
  const { servers } = parseServers(url);
  const onWait = () => say('courtd: the servers are not ready yet: waiting for them.');
  const made = await withHeadquarters(url, options, (nc) => createStreams(nc, servers.length, onWait));
  for (const { name, outcome, copies } of made) printText(`${name}: ${outcome}, copies: ${copies}\n`);
  say(
    'courtd: every server must have "sync_interval: always" in its block jetstream. Without it a power cut can lose events that ' +
      'headquarters has acknowledged and a box has deleted.',
  );
}

/** `courtd fleet status`: one line per box, the one that was heard of longest ago first. */
export async function status(url: string, { json, ...options }: FleetOptions & JsonOption): Promise<void> {
  const rows = await withHeadquarters(url, options, readBoxes);
  if (json) return printJson(rows);
  const cells = rows.map((row) => cellsOf(row, Date.now()));
  const toLine = tableLine([HEADINGS, ...cells]);
  printText([HEADINGS, ...cells].map((row) => `${visible(toLine(row))}\n`).join(''));
}

const HEADINGS = ['BOX', 'STATE', 'SHIPPED', 'NEWEST', 'BEHIND', 'SEEN'];

function cellsOf(row: BoxRow, nowMs: number): string[] {
  const { box, state, shipped_seq, newest_seq, behind_events, behind_s, last_seen_at } = row;
  const span = behind_events && behind_s !== null ? ` (${shortSpan(behind_s)})` : '';
  const shown = (value: number | string | null) => `${value ?? '-'}`;
  return [
    box,
    shown(state),
    shown(shipped_seq),
    shown(newest_seq),
    `${shown(behind_events)}${span}`,
    shortAgo(last_seen_at, nowMs),
  ];
}

interface FleetTailOptions extends FleetOptions {
  readonly box?: string;
  readonly after?: number;
}

/** `courtd fleet tail`: ends after what was there when it began. */
export function tail(url: string, options: FleetTailOptions): Promise<void> {
  const { box, after = 0 } = options;
  return withHeadquarters(url, options, async (nc) => {
    const output = stdoutSink();
    for await (const lines of readEvents(nc, box, after)) await output.write([...lines].join(''));
  });
}
