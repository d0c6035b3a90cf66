import type { Database } from 'better-sqlite3';
import { type Command, Option } from 'commander';
import { bytesFor, counted, isoTime } from '../../base/units.ts';
import { assertDaemonRuns, haveDone } from '../../control/workClient.ts';
import { PRUNE_PATH } from '../../control/workRoutes.ts';
import { readShipView } from '../../fleet/ship/view.ts';
import { EVENT_TYPES } from '../../protocol/eventTypes.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/refused/readRefused.ts';
import type { PruneSelection } from '../../store/retention/expiredEvents.ts';
import { findOldRecords, type OldRecords } from '../../store/retention/oldRecords.ts';
import { countExpired, type Pruned } from '../../store/retention/prune.ts';
import { json } from '../options/optionParsers.ts';
import { holdOf } from '../options/shipHold.ts';
import { parseTimeOrAge } from '../options/times.ts';
import { confirmed } from '../terminal/confirm.ts';
import { type JsonOption, Progress, printJson, say, workTeller } from '../terminal/output.ts';

const HELP = `
Conflict copies, rejected requests and replaced databases of that age go, too;
with --type only conflict copies of that type. Events that have not been shipped
yet stay for COURTD_SHIP_HOLD.

Examples:
  sudo courtd prune --older-than 30d --type PLAYER_POSITION`;

export function define(command: Command): void {
  command
    .description('delete events by time of receipt; the daemon does it while it takes events')
    .addOption(
      new Option(
        '--older-than <time>',
        'events received before this time, or longer ago than an age such as 90d',
      )
        .makeOptionMandatory()
        .argParser(parseTimeOrAge),
    )
    .addOption(new Option('--type <type>', 'only events of this type').choices(EVENT_TYPES))
    .option('--dry-run', 'only report what would be deleted')
    .option('--yes', 'delete more than half of all events without asking')
    .addOption(json())
    .addHelpText('after', HELP)
    .action((_options, command) => prune(command.optsWithGlobals()));
}

interface PruneOptions extends DataOption, JsonOption {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly olderThan: number;
  readonly type?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

async function prune(options: PruneOptions): Promise<void> {
  const nowMs = Date.now();
  const beforeMs = options.olderThan;
  if (!options.dryRun) await assertDaemonRuns(options.data);
  const type = options.type === undefined ? {} : { type: options.type };
  const { which, counted: dry } = await withDatabase(options, async (db) => {
    const which = { beforeMs, nowMs, ...type, ...holdOf(readShipView(options.data, db)) };
    if (options.dryRun) {
      const refused = await withRefused(options.data, (file) => file.seqs(which).length);
      const rejections = options.type === undefined ? (refused ?? 0) : 0;
      const records = findOldRecords(db, which);
      return { which, counted: { ...countExpired(db, which), bytes: 0, records, rejections } };
    }
    if (!options.yes) await confirm(db, which);
    return { which };
  });
  const progress = new Progress();
  const work = () =>
    haveDone<string, Pruned & { rejections: number }>(options.data, PRUNE_PATH, which, workTeller(progress));
  const done = dry ?? (await work().finally(() => progress.clear()));
  const { events, sessions, bytes, held, records, rejections } = done;
  if (options.json) {
    return printJson({
      dry_run: options.dryRun ?? false,
      received_before: isoTime(beforeMs),
      events,
      sessions,
      bytes,
      held,
      conflict_copies: records.conflictCopies.length,
      rejections,
      old_databases: countDatabases(records),
    });
  }
  const kind = options.type === undefined ? 'event' : `${options.type} event`;
  const what = `${counted(events, kind)} of ${counted(sessions, 'session')}`;
  const when = `received before ${isoTime(beforeMs)}`;
  if (held > 0) {
    say(
      `${counted(held, 'event')} of that age stay for now, because they have not been shipped yet (COURTD_SHIP_HOLD). "courtd status" shows how far shipping is.`,
    );
  }
  const more = recordsText(records, rejections);
  if (options.dryRun) return say(`${what}, ${when}, would be deleted.${more && ` So would ${more}.`}`);
  const given = `${bytesFor(bytes)} given back to the file system`;
  say(`Deleted ${what}, ${when}; ${given}.${more && ` With them went ${more}.`}`);
}

/** @returns what else there is of that age; empty where there is nothing. */
function recordsText(records: OldRecords, rejections: number): string {
  const copies = records.conflictCopies.length;
  const bytes = records.databases.reduce((sum, file) => sum + file.bytes, 0);
  const all: readonly (readonly [count: number, text: string])[] = [
    [copies, counted(copies, 'conflict copy', 'conflict copies')],
    [rejections, counted(rejections, 'rejection')],
    [records.databases.length, `${counted(countDatabases(records), 'old database')} (${bytesFor(bytes)})`],
  ];
  const texts = all.filter(([count]) => count > 0).map(([, text]) => text);
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
}

/** Each once, however many files it has. */
function countDatabases({ databases }: OldRecords): number {
  return new Set(databases.map(({ database }) => database)).size;
}

/** Asks before deleting more than half of all events. @throws {OperatorError} unless the answer is yes. */
async function confirm(db: Database, which: PruneSelection): Promise<void> {
  const { events, of } = countExpired(db, which);
  if (2 * events <= of) return;
  const what = `${events} of ${of} events, more than half, would be deleted`;
  await confirmed(what, 'Delete them?', 'nothing was deleted');
}
