import type { Command } from 'commander';
import { abortOnSignal } from '../../base/signals.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { Connector } from '../../fleet/nats/connect.ts';
import { runDirectory } from '../../fleet/report/reportFile.ts';
import { type ShipReport, shipReport } from '../../fleet/report/shipReport.ts';
import { childFeed, socketFeed } from '../../fleet/ship/boxLog.ts';
import { NatsLog } from '../../fleet/ship/natsLog.ts';
import { shipSettings } from '../../fleet/ship/settings.ts';
import { Shipper } from '../../fleet/ship/shipper.ts';
import { beginEpoch, readEpochs } from '../../store/db/epochs.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { readShipLag } from '../../store/read/shipLag.ts';
import { printData, say } from '../terminal/output.ts';

const HELP = `
The settings are variables, as in /etc/courtd/courtd.env:
  COURTD_SHIP_URL      nats:// or tls://HOST:PORT, several with commas
  COURTD_SHIP_BOX      the name of this box there: a to z, 0 to 9 and "-"
  COURTD_SHIP_CREDS    a NATS credentials file
  COURTD_SHIP_CA       the certificate of the authority to trust
  COURTD_SHIP_PLAYERS  as-sent, or pseudonym
  COURTD_SHIP_FEED     the socket of courtd-feed.socket

"courtd status" shows how far it is.

Example:
  COURTD_SHIP_URL=tls://hq.example COURTD_SHIP_BOX=venue-7 courtd ship --once`;

export function define(command: Command): void {
  command
    .option('--once', 'exit when all stored events have been shipped')
    .option('--new-epoch', 'begin a new log after this box was cloned, and exit')
    .addHelpText('after', HELP)
    .action((_options, command) => ship(command.optsWithGlobals()));
}

interface ShipOptions extends DataOption {
  readonly once?: boolean;
  readonly newEpoch?: boolean;
}

/** From SIGTERM to the end, whatever is under way. */
const END_MS = 8_000;

/** Exit status 1 if it was fenced, or `--once` was ended before it had caught up. */
async function ship({ data, once = false, newEpoch = false }: ShipOptions): Promise<void> {
  if (newEpoch) return beginNewEpoch(data);
  yieldToIngest();
  const { url, creds, ca, box, feed } = shipSettings(process.env);
  const signal = abortOnSignal();
  const connector = new Connector({ url, creds, ca });
  // Report a missing database once and here, not again and again from the process that ships.
  if (feed === undefined) await withDatabase({ data }, () => {});
  // Whatever hangs must not keep the process alive.
  signal.addEventListener('abort', () => setTimeout(() => process.exit(once ? 1 : 0), END_MS).unref());
  const openFeed = () => (feed === undefined ? childFeed(data) : socketFeed(feed));
  const runDir = runDirectory(process.env, data.path);
  const headquarters = new NatsLog(connector, box, (sentence) => say(`courtd: ${sentence}`));
  const options = { box, url: connector.shown, once, runDir, signal, onChange: tell };
  const { state } = await new Shipper(openFeed, headquarters, options).run();
  if (state === 'fenced' || (once && state !== 'current')) process.exitCode = 1;
}

function tell({ state, url, error, shipped_seq }: ShipReport): void {
  const upTo = shipped_seq === null ? '' : `, shipped up to seq ${shipped_seq}`;
  say(`courtd: ${state}: ${error ?? `${url}${upTo}.`}`);
}

/** `courtd ship --new-epoch`: prints the name of the epoch. */
async function beginNewEpoch(data: DataOption['data']): Promise<void> {
  const report = shipReport.read(runDirectory(process.env, data.path));
  await withDatabase({ data }, (db) => {
    const { shippedSeq } = readShipLag(db, report?.epoch, report?.shipped_seq);
    db.transaction(() => beginEpoch(db, shippedSeq ?? 0)).immediate();
    printData(`${readEpochs(db).at(-1)!.name}\n`);
  });
  say(
    'courtd: This box ships a log of its own from now on. Start the shipper again: "sudo systemctl restart courtd-ship".',
  );
}
