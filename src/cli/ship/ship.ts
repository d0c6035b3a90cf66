import { abortOnSignal } from '../../base/signals.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { FeedClient } from '../../fleet/feed/feedClient.ts';
import { FeedServer } from '../../fleet/feed/feedServer.ts';
import { LocalFeed } from '../../fleet/feed/localFeed.ts';
import type { ShipReport } from '../../fleet/feed/shipNote.ts';
import { type Destination, destinationOf, type ShipSettings } from '../../fleet/ship/settings.ts';
import { Shipper } from '../../fleet/ship/shipper.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { becomeOwnerOf } from '../options/identity.ts';
import { type JsonOption, printData, printJson, say } from '../terminal/output.ts';
import { shipObject } from './status.ts';

interface ShipOptions extends DataOption, JsonOption, ShipSettings {
  readonly once?: boolean;
  /** A socket. */
  readonly feed?: string;
}

/** From SIGTERM to the end, whatever is under way. */
const END_MS = 8_000;

/** `courtd ship`: the exit status is 1 where it ended because it was fenced, or `--once` was ended before it had caught up. */
export async function ship(options: ShipOptions): Promise<void> {
  yieldToIngest();
  const destination = await destinationOf(options);
  const report = await (options.feed === undefined
    ? shipFromDatabase(options, destination)
    : run(options, destination, new FeedClient(options.feed, options.players)));
  if (options.json && options.once) {
    const isLocal = options.feed === undefined;
    printJson(isLocal ? await withDatabase(options, (db) => shipObject(db, options)) : report);
  }
  if (report.state === 'fenced' || (options.once && report.state !== 'current')) process.exitCode = 1;
}

/** Commands ask this process how far it is. */
async function shipFromDatabase(options: ShipOptions, destination: Destination): Promise<ShipReport> {
  await becomeOwnerOf(options.data);
  const feed = new LocalFeed(options.data, options.players);
  await feed.state();
  const server = await FeedServer.start(options.data, feed);
  try {
    return await run(options, destination, feed);
  } finally {
    await server.close();
    await feed.close();
  }
}

async function run(
  options: ShipOptions,
  { box, url, makeSink }: Destination,
  feed: LocalFeed | FeedClient,
): Promise<ShipReport> {
  const ending = abortOnSignal();
  const sink = makeSink(feed);
  // A sink that hangs must not keep the process alive. Node does not exit before a file operation has ended: a stick may never end it.
  const end = () =>
    sink.isSwappable ? process.kill(process.pid, 'SIGKILL') : process.exit(options.once ? 1 : 0);
  ending.addEventListener('abort', () => {
    setTimeout(() => void feed.close().finally(end), END_MS).unref();
  });
  const shipper = new Shipper(feed, sink, {
    box,
    url,
    once: options.once === true,
    players: options.players,
    signal: ending,
    onReport: (report, isChange) => tell(report, isChange, options),
    onLeftOut: (sentence) => say(`courtd: ${sentence}`),
  });
  try {
    return await shipper.run();
  } finally {
    if (feed instanceof FeedClient) await feed.close();
  }
}

function tell(report: ShipReport, isChange: boolean, { json, once }: ShipOptions): void {
  const { state, url, error, shipped_seq } = report;
  if (json && !once) return printData(`${JSON.stringify(report)}\n`);
  if (!isChange) return;
  if (error !== null) return say(`courtd: ${state}: ${error}`);
  if (once && json) return;
  const upTo = shipped_seq === null ? '' : `, shipped up to seq ${shipped_seq}`;
  say(`courtd: ${state}: ${url}${upTo}.`);
}
