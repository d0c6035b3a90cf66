import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { askDaemon, followDaemon } from '../../control/controlClient.ts';
import { ERASE_PATH, type EraseBody, NAMING_PATH } from '../../control/eraseRoute.ts';
import { FLUSH_REFUSED_PATH } from '../../control/rejectionRoutes.ts';
import { workAnyhow } from '../../control/workClient.ts';
import type { WorkLine } from '../../control/workRoute.ts';
import { isTelling, namesPlayer } from '../../protocol/redaction.ts';
import { countCopies, type Erased, type EraseProgress } from '../../store/erasure/erase.ts';
import { countErasure, ErasureTally } from '../../store/erasure/eraseEvents.ts';
import { ErasedPlayers, erasureOf, FOREVER_NS, readErasures } from '../../store/erasure/ledger.ts';
import { Redactor } from '../../store/erasure/redactor.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import { confirmed } from '../terminal/confirm.ts';
import { type JsonOption, Progress, printJson, printText, say, workTeller } from '../terminal/output.ts';
import { copiesOf, type Receipt, receiptText } from './receipt.ts';

export interface EraseOptions extends DataOption, JsonOption {
  /** His events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; absent: all. */
  readonly before?: bigint;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const FLUSH_MS = 30_000;

/** What is known before anything is done. */
interface Found extends Pick<Erased, 'emptied' | 'renamed' | 'sessions' | 'conflictCopies' | 'rejections'> {
  /** Sessions, and cameras, whose own name has his id in it. */
  readonly namedSessions: number;
  readonly namedSources: number;
  /** Events in which his id is a part of a longer text. */
  readonly mentioned: number;
  readonly wasErased: boolean;
  /** One was ended in the middle. */
  readonly isBegun: boolean;
}

export async function erase(player: string, options: EraseOptions): Promise<void> {
  const { data, before } = options;
  const progress = new Progress();
  const found = await withDatabase(options, (db) => look(db, player, before, progress)).finally(() =>
    progress.clear(),
  );
  // A body that was refused within the last second is on disk then.
  await flush(data);
  const refused = async (isDry: boolean) =>
    (await withRefused(data, (bodies) => bodies.erase((text) => namesPlayer(text, player), isDry))) ?? 0;
  const rejections = (await rejectionsOfDaemon(data, player)) ?? found.rejections;
  const events = found.emptied + found.renamed;
  const isNamed = events + found.conflictCopies + rejections > 0 || found.wasErased;
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
    : await eraseAnyhow(player, options, progress, { ...found, rejections });
  if (!options.dryRun) await flush(data);
  const receipt: Receipt = {
    player,
    beforeNs: before,
    isDry: options.dryRun ?? false,
    atMs: Date.now(),
    erased,
    refusedBodies: await refused(options.dryRun ?? false),
    found,
    ...(await copiesOf(data)),
  };
  if (erased.remainingPages > 0 || erased.files.length > 0) process.exitCode = 1;
  const { json, lines } = receiptText(receipt);
  if (options.json) printJson(json);
  else printText(lines);
}

/** Counts what an erasure would change; beside ingest, in a process that only reads. */
async function look(
  db: Database,
  player: string,
  beforeNs: bigint | undefined,
  progress: Progress,
): Promise<Found> {
  const entry = erasureOf(db, player, beforeNs ?? FOREVER_NS, 0);
  let count = { emptied: 0, renamed: 0, sessions: 0, mentioned: 0 };
  for (const { looked, ...so } of countErasure(db, new Redactor([entry]), player)) {
    count = so;
    progress.show(() => `${looked} events looked at`);
    await new Promise(setImmediate);
  }
  const named = (table: string, text: string) =>
    !isTelling(player)
      ? 0
      : db
          .prepare<[string], number>(`SELECT count(*) FROM ${table} WHERE instr(${text}, ?) > 0`)
          .pluck()
          .get(player)!;
  const before = new ErasedPlayers(readErasures(db)).find(player);
  return {
    ...count,
    conflictCopies: countCopies(db, 'conflict_copy', player),
    rejections: countCopies(db, 'rejection', player),
    namedSessions: named('session', 'name'),
    namedSources: named('origin', "concat_ws(' ', venue, court, source)"),
    wasErased: before !== undefined,
    isBegun: before?.finishedMs === null,
  };
}

async function eraseAnyhow(
  player: string,
  { data, before }: EraseOptions,
  progress: Progress,
  found: Found,
): Promise<Erased> {
  const request: EraseBody = { player, ...(before !== undefined && { before: String(before) }) };
  const tally = new ErasureTally();
  const on: EraseProgress = workTeller(progress, WAITING, PROGRESS);
  const done = await workAnyhow(data, {
    path: ERASE_PATH,
    request,
    command: 'player erase',
    on,
    cut: () => {},
    progress: () => tally.upTo + tally.pages,
    alone: (store, signal) => store.erase({ player, beforeNs: before, nowMs: Date.now() }, on, signal, tally),
    failed: (why) => say(`courtd: ${why} Erase him again when that is fixed: it goes on.`),
  }).finally(() => progress.clear());
  // A daemon that ended in the middle has told nobody what it had done.
  const atLeast = (count: 'emptied' | 'renamed' | 'sessions' | 'conflictCopies' | 'rejections') =>
    Math.max(done[count], found[count]);
  return {
    ...done,
    emptied: atLeast('emptied'),
    renamed: atLeast('renamed'),
    sessions: atLeast('sessions'),
    conflictCopies: atLeast('conflictCopies'),
    rejections: atLeast('rejections'),
  };
}

/** @returns undefined where no daemon runs: then all of them are stored. */
async function rejectionsOfDaemon(data: DataDirectory, player: string): Promise<number | undefined> {
  let count: number | undefined;
  await followDaemon<WorkLine<never, number>>(data, NAMING_PATH, { player }, (line) => {
    if ('done' in line) count = line.done;
  });
  return count;
}

const WAITING =
  'Waiting for another program to finish reading the database. You may interrupt this; when it is called again, it goes on.';

const PROGRESS = {
  events: (done: number) => `${done} events looked at`,
  pages: (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB of freed pages given back`,
  bytes: (round: number) => `reading every byte, round ${round}`,
};

async function flush(data: DataDirectory): Promise<void> {
  await askDaemon(data, FLUSH_REFUSED_PATH, FLUSH_MS);
}
