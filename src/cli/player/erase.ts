import fs from 'node:fs';
import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { NS_PER_MS } from '../../base/units.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { countNaming, eraseAnyhow } from '../../control/eraseClient.ts';
import { flushRefused } from '../../control/rejectionRoutes.ts';
import { mayName, type Naming, naming } from '../../protocol/playerRedaction.ts';
import { findPlayer } from '../../store/erasure/foundPlayer.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import { confirmed } from '../terminal/confirm.ts';
import { type JsonOption, Progress, printJson, printText, say, workTeller } from '../terminal/output.ts';
import { copiesOf, isoOf, questionOf, type Receipt, receiptText } from './receipt.ts';

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
  const names = naming(player);
  const refused = async (by: Naming, isDry: boolean) =>
    (await withRefused(data, (bodies) => bodies.erase(by, isDry))) ?? 0;
  const { rejections, namedRejections } = (await countNaming(data, player)) ?? found;
  const events = found.emptied + found.renamed;
  const isKnown = found.hasPseudonym || found.wasErased;
  const isNamed = events + found.conflictCopies + namedRejections > 0 || isKnown;
  const isShown = options.dryRun || !options.yes;
  if (!isNamed && (await refused(names, true)) === 0) {
    throw new OperatorError(
      `No event${before === undefined ? '' : ' of that time'} names the player ${JSON.stringify(player)}: "courtd player list" shows who is there.`,
    );
  }
  const copies = () => copiesOf(data, { later: found.later, beforeNs: before });
  const dry: Receipt = {
    player,
    beforeNs: before,
    isDry: true,
    atMs: Date.now(),
    erased: { ...found, rejections, remainingPages: 0, files: [] },
    refusedBodies: isShown ? await refused(mayName(names), true) : 0,
    found,
    copies: isShown ? await copies() : [],
  };
  if (!options.dryRun && !options.yes) await confirmed(questionOf(dry), 'Erase him?', 'nothing was erased');
  if (options.dryRun) return tell(dry, options);
  // Nobody can say whom it names.
  for (const file of data.damagedRefused()) fs.rmSync(file, { force: true });
  const endWork = cleanUpOnExit(() => say('Interrupted: call it again and it goes on.'));
  const erased = await eraseAnyhow(
    data,
    player,
    before,
    { ...found, rejections },
    workTeller(progress, WAITING, PROGRESS),
    (why) => say(`courtd: ${why} Erase him again when that is fixed: it goes on.`),
  ).finally(() => {
    progress.clear();
    endWork();
  });
  await flushRefused(data);
  const done = {
    isDry: false,
    atMs: Date.now(),
    erased,
    refusedBodies: await refused(mayName(names), false),
  };
  tell({ ...dry, ...done, copies: await copies() }, options);
}

function tell(receipt: Receipt, { json: isJson }: JsonOption): void {
  const { remainingPages, files } = receipt.erased;
  if (remainingPages > 0 || files.length > 0) process.exitCode = 1;
  const { json, lines } = receiptText(receipt);
  if (isJson) printJson(json);
  else printText(lines);
}

const WAITING =
  'Waiting for another program to finish reading the database. You may interrupt this; when it is called again, it goes on.';

const PROGRESS = {
  events: (done: number) => `${done} events looked at`,
  pages: (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB of freed pages given back`,
  bytes: (round: number) => `reading every byte, round ${round}`,
};
