import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { countNaming, eraseAnyhow } from '../../control/eraseClient.ts';
import { flushRefused } from '../../control/rejectionRoutes.ts';
import { namesPlayer } from '../../protocol/redaction.ts';
import { findPlayer } from '../../store/erasure/foundPlayer.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import { confirmed } from '../terminal/confirm.ts';
import { type JsonOption, Progress, printJson, printText, say, workTeller } from '../terminal/output.ts';
import { copiesOf, isoOf, type Receipt, receiptText } from './receipt.ts';

interface EraseOptions extends DataOption, JsonOption {
  /** His events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; absent: all. */
  readonly before?: bigint;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function erase(player: string, options: EraseOptions): Promise<void> {
  yieldToIngest();
  const { data, before } = options;
  if (before !== undefined && before > BigInt(Date.now()) * NS_PER_MS)
    throw new UsageError(
      `--before ${isoOf(before)} has not come yet: whatever he plays until then would be erased as it comes. Give a time that has passed, or leave --before out.`,
    );
  const progress = new Progress();
  const looked = (events: number) => progress.show(() => `${events} events looked at`);
  const found = await withDatabase(options, (db) => findPlayer(db, player, before, looked)).finally(() =>
    progress.clear(),
  );
  await flushRefused(data);
  const refused = async (isDry: boolean) =>
    (await withRefused(data, (bodies) => bodies.erase((text) => namesPlayer(text, player), isDry))) ?? 0;
  const rejections = (await countNaming(data, player)) ?? found.rejections;
  const events = found.emptied + found.renamed;
  const isKnown = found.hasPseudonym || found.wasErased;
  const isNamed = events + found.conflictCopies + rejections > 0 || isKnown;
  if (!isNamed && (await refused(true)) === 0) {
    throw new OperatorError(
      `No event${before === undefined ? '' : ' of that time'} names the player ${JSON.stringify(player)}: "courtd player list" shows who is there.`,
    );
  }
  if (!options.dryRun && !options.yes) {
    const what = `${counted(events, 'event')} of ${counted(found.sessions, 'session')} would lose the player ${JSON.stringify(player)}, and that cannot be undone`;
    await confirmed(what, 'Erase him?', 'nothing was erased');
  }
  const nothing = { remainingPages: 0, files: [] };
  const erased = options.dryRun
    ? { ...found, ...nothing, rejections }
    : await eraseAnyhow(
        data,
        player,
        before,
        { ...found, rejections },
        workTeller(progress, WAITING, PROGRESS),
        (why) => say(`courtd: ${why} Erase him again when that is fixed: it goes on.`),
      ).finally(() => progress.clear());
  if (!options.dryRun) await flushRefused(data);
  const receipt: Receipt = {
    player,
    beforeNs: before,
    isDry: options.dryRun ?? false,
    atMs: Date.now(),
    erased,
    refusedBodies: await refused(options.dryRun ?? false),
    found,
    copies: await copiesOf(data, { later: found.later, beforeNs: before }),
  };
  if (erased.remainingPages > 0 || erased.files.length > 0) process.exitCode = 1;
  const { json, lines } = receiptText(receipt);
  if (options.json) printJson(json);
  else printText(lines);
}

const NS_PER_MS = 1_000_000n;
const WAITING =
  'Waiting for another program to finish reading the database. You may interrupt this; when it is called again, it goes on.';

const PROGRESS = {
  events: (done: number) => `${done} events looked at`,
  pages: (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB of freed pages given back`,
  bytes: (round: number) => `reading every byte, round ${round}`,
};
