import type { Database } from 'better-sqlite3';
import { type Command, Option } from 'commander';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { bytesFor, counted, isoTime } from '../../base/units.ts';
import { pruneAnyhow } from '../../control/pruneClient.ts';
import { readOwnShipView } from '../../fleet/feed/readShipStatus.ts';
import { EVENT_TYPES } from '../../protocol/eventTypes.ts';
import { hasJustJumped, readMark } from '../../store/directory/clockMark.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import type { PruneSelection } from '../../store/retention/expiredEvents.ts';
import { findOldRecords, type OldRecords } from '../../store/retention/oldRecords.ts';
import { countExpired, type Pruned, type PruneProgress } from '../../store/retention/prune.ts';
import { json, option, parseDuration, parsePeriod } from '../options/optionParsers.ts';
import { confirmed } from '../terminal/confirm.ts';
import { type JsonOption, Progress, printJson, say, workTeller } from '../terminal/output.ts';

const SHIP_HOLD_S = 30 * 86_400;

const HELP = `
With the events go conflict copies, as old as the copy; rejections and their
bodies, as old as the refusal; and old databases, as old as the restore that
replaced them (courtd.db.replaced-*) or the copy that an upgrade made
(courtd.db.layout-*).
With --type only conflict copies of that type: the others hold every type.

Examples:
  courtd prune --older-than 90d --dry-run
  sudo courtd prune --older-than 30d --type PLAYER_POSITION`;

export function define(command: Command): void {
  command
    .description(
      'delete events by time of receipt, while the daemon takes events, and give the space back to the file system; deleting a revision also deletes the lower ones that it replaced; what else holds events of that age goes with them',
    )
    .addOption(
      new Option('--older-than <time>', 'events received longer ago than this: a number with s, m, h or d')
        .makeOptionMandatory()
        .argParser(parsePeriod),
    )
    .addOption(new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES))
    .addOption(
      option('--ship-hold <time>', 'how long to keep events that have not been shipped yet')
        .default(SHIP_HOLD_S, '30d')
        .argParser(parseDuration),
    )
    .option('--dry-run', 'only report what would be deleted')
    .option(
      '--yes',
      'delete more than half of all events without asking, as the nightly unit does; refused for a day after the clock has jumped',
    )
    .addOption(json())
    .addHelpText('after', HELP)
    .action((_options, command) => prune(command.optsWithGlobals()));
}

interface PruneOptions extends DataOption, JsonOption {
  /** Seconds. */
  readonly olderThan: number;
  readonly type?: string;
  readonly dryRun?: boolean;
  /** Deletes without asking, as the nightly unit does. */
  readonly yes?: boolean;
  /** Seconds for which events that have not been shipped yet are kept. */
  readonly shipHold: number;
}

async function prune(options: PruneOptions): Promise<void> {
  const nowMs = Date.now();
  const beforeMs = nowMs - options.olderThan * 1000;
  const type = options.type === undefined ? {} : { type: options.type };
  const { which, counted: dry } = await withDatabase(options, async (db) => {
    const which = { beforeMs, nowMs, ...type, ...(await holdOf(db, options, nowMs)) };
    if (options.dryRun)
      return { which, counted: { ...countExpired(db, which), bytes: 0, records: findOldRecords(db, which) } };
    if (options.yes) refuseJumpedClock(options.data, nowMs);
    else await confirm(db, which);
    return { which };
  });
  const { events, sessions, bytes, held, records } = dry ?? (await deleteOld(which, options));
  const bodies = options.type === undefined ? await dropBodies(which, options) : 0;
  if (options.json) {
    const before = isoTime(beforeMs);
    return printJson({
      dry_run: options.dryRun ?? false,
      received_before: before,
      events,
      sessions,
      bytes,
      held,
      conflict_copies: records.conflictCopies.length,
      rejections: records.rejections.length,
      refused_bodies: bodies,
      old_databases: countDatabases(records),
    });
  }
  const kind = options.type === undefined ? 'event' : `${options.type} event`;
  const what = `${counted(events, kind)} of ${counted(sessions, 'session')}`;
  const when = `received before ${isoTime(beforeMs)}`;
  if (held > 0) {
    say(
      `${counted(held, 'event')} of that age stay, because they have not been shipped yet: for ${options.shipHold / 86_400} days at ` +
        'most (COURTD_SHIP_HOLD). "courtd ship status" says how far shipping is.',
    );
  }
  const more = recordsText(records, bodies);
  if (options.dryRun) return say(`${what}, ${when}, would be deleted.${more && ` So would ${more}.`}`);
  const given = `${bytesFor(bytes)} given back to the file system`;
  say(`Deleted ${what}, ${when}; ${given}.${more && ` With them went ${more}.`}`);
}

/** @returns what else there is of that age; empty where there is nothing. */
function recordsText(records: OldRecords, bodies: number): string {
  const copies = records.conflictCopies.length;
  const bytes = records.databases.reduce((sum, file) => sum + file.bytes, 0);
  const all: readonly (readonly [count: number, text: string])[] = [
    [copies, counted(copies, 'conflict copy', 'conflict copies')],
    [records.rejections.length, counted(records.rejections.length, 'rejection')],
    [bodies, counted(bodies, 'refused body', 'refused bodies')],
    [records.databases.length, `${counted(countDatabases(records), 'old database')} (${bytesFor(bytes)})`],
  ];
  const texts = all.filter(([count]) => count > 0).map(([, text]) => text);
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
}

/** Refused bodies of that age go with the rejections. @returns how many. */
async function dropBodies(which: PruneSelection, { data, dryRun = false }: PruneOptions): Promise<number> {
  const dropped = await withRefused(data, (refused) => {
    const ids = refused.older(which);
    if (!dryRun) refused.remove(ids);
    return ids.length;
  });
  return dropped ?? 0;
}

/** Each once, however many files it has. */
function countDatabases({ databases }: OldRecords): number {
  return new Set(databases.map(({ database }) => database)).size;
}

/** Keeps events until they are shipped, where events are shipped from here at all. */
async function holdOf(
  db: Database,
  { data, shipHold }: PruneOptions,
  nowMs: number,
): Promise<Pick<PruneSelection, 'hold'>> {
  const { isSetUp, shipped_seq } = await readOwnShipView(data, db);
  return isSetUp ? { hold: { afterSeq: shipped_seq ?? 0, beforeMs: nowMs - shipHold * 1_000 } } : {};
}

/** Asks the daemon to delete, or does it. */
async function deleteOld(which: PruneSelection, { data }: DataOption): Promise<Pruned> {
  const progress = new Progress();
  const on: PruneProgress = workTeller(progress, WAITING, PROGRESS);
  const failed = (why: string) => say(`courtd: ${why} Prune again when that is fixed.`);
  return await pruneAnyhow(which, data, on, failed).finally(() => progress.clear());
}

const WAITING =
  'Waiting for another program to finish reading the database. You may interrupt this prune; the next one resumes it.';

const PROGRESS = {
  events: (done: number) => `${done} events deleted`,
  keys: (done: number) => `${done} keys deleted`,
  pages: (done: number) => `${bytesFor(done)} given back`,
} as const;

/** With --yes nobody checks the clock, and one that is ahead would make every event look old. @throws {OperatorError} */
function refuseJumpedClock(data: DataDirectory, nowMs: number): void {
  const mark = readMark(data);
  if (mark === undefined || !hasJustJumped(mark, nowMs)) return;
  throw new OperatorError(
    `The clock says ${isoTime(nowMs)}. It has jumped by more than a day, or the box was off for that long, so it is not trusted for a day: ` +
      'nothing was deleted. If it is right, run this without --yes.',
  );
}

/** Asks before deleting more than half of all events. @throws {OperatorError} unless the answer is yes. */
async function confirm(db: Database, which: PruneSelection): Promise<void> {
  const { events, of } = countExpired(db, which);
  if (2 * events <= of) return;
  const what = `${events} of ${of} events, more than half, would be deleted`;
  await confirmed(what, 'Delete them?', 'nothing was deleted');
}
