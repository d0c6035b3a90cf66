import type { Database } from 'better-sqlite3';
import { type Command, Option } from 'commander';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { bytesFor, counted, isoTime } from '../../base/units.ts';
import { assertDaemonRuns, haveDone } from '../../control/controlClient.ts';
import { PRUNE_PATH } from '../../control/workRoutes.ts';
import { viewCopy } from '../../fleet/report/copyReport.ts';
import { viewShip } from '../../fleet/report/shipReport.ts';
import { serviceOf } from '../../host/serviceSettings.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { isOfAll, type PruneSelection } from '../../store/keep/expiredEvents.ts';
import { countExpired, findOldRecords, type OldRecords, type Pruned } from '../../store/keep/pruneEvents.ts';
import { readShipLag, type Shipped } from '../../store/read/shipLag.ts';
import { countRefused, withRefused } from '../../store/refused/refusedFile.ts';
import { ofType } from '../options/optionParsers.ts';
import { holdOf } from '../options/shipHold.ts';
import { parseTimeOrAge } from '../options/times.ts';
import { confirmed } from '../terminal/confirm.ts';
import { say, showWork } from '../terminal/output.ts';

const HELP = `
Without --type it also deletes conflict copies, rejected requests and replaced
databases of that age. Events that have not been shipped or copied yet stay for
COURTD_SHIP_HOLD.

Examples:
  sudo courtd prune --older-than 30d --type PLAYER_POSITION
  sudo courtd prune --session match-17`;

export function define(command: Command): void {
  const age = new Option('--older-than <time>', 'events received before this time, or age such as 90d');
  const session = new Option('--session <id>', 'all events of this session, whatever their age');
  command
    .addOption(age.argParser(parseTimeOrAge))
    .addOption(ofType())
    .addOption(session.conflicts(['olderThan', 'type']))
    .option('--dry-run', 'only report what would be deleted')
    .option('--yes', 'delete more than half of all events without asking')
    .addHelpText('after', HELP)
    .action(async (_options, command: Command) => {
      const options: PruneOptions = command.optsWithGlobals();
      if (options.olderThan === undefined && options.session === undefined)
        command.error('error: give --older-than with an age such as 90d, or --session.', { exitCode: 2 });
      await prune(options);
    });
}

interface PruneOptions extends DataOption {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly olderThan?: number;
  readonly type?: string;
  readonly session?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

async function prune(options: PruneOptions): Promise<void> {
  const { data, olderThan, session, type, dryRun = false } = options;
  const nowMs = Date.now();
  const beforeMs = olderThan ?? nowMs;
  if (!dryRun) await assertDaemonRuns(data);
  const only = { ...(type !== undefined && { type }), ...(session !== undefined && { session }) };
  const { settings } = serviceOf(data);
  const asked = { beforeMs, nowMs, ...only };
  const found = await withDatabase(options, async (db) => {
    // What the daemon will keep, as far as its settings can be read.
    const readLag = (...shipped: Shipped) => readShipLag(db, ...shipped);
    const [ship, copy] = [viewShip(data, readLag, settings), viewCopy(data.path, readLag, settings)];
    const which = { ...asked, ...holdOf(ship, copy, settings) };
    if (!dryRun && !options.yes) await confirm(db, which);
    return dryRun ? findExpired(data, db, which) : undefined;
  });
  const done = found ?? (await haveDone<Found>(data, PRUNE_PATH, asked, showWork));
  const { events, sessions, bytes, held, records, rejections } = done;
  const what = `${counted(events, type === undefined ? 'event' : `${type} event`)} of ${counted(sessions, 'session')}`;
  const when = session === undefined ? `received before ${isoTime(beforeMs)}` : 'of any age';
  if (held > 0)
    say(
      `Held back until shipped or copied (COURTD_SHIP_HOLD): ${counted(held, 'event')}. See "courtd status".`,
    );
  const more = recordsText(records, rejections);
  if (dryRun) return say(`${what}, ${when}, would be deleted.${more && ` So would ${more}.`}`);
  const freed = bytes === 0 ? '' : `; ${bytesFor(bytes)} are free again`;
  say(`Deleted ${what}, ${when}${freed}.${more && ` With them went ${more}.`}`);
}

type Found = Pruned & { readonly rejections: number };

/** @returns what a prune would delete. */
async function findExpired(data: DataDirectory, db: Database, which: PruneSelection): Promise<Found> {
  const refused = isOfAll(which) && (await withRefused(data, (refused) => countRefused(refused, which)));
  return {
    ...countExpired(db, which),
    bytes: 0,
    records: findOldRecords(db, which),
    rejections: refused || 0,
  };
}

/** @returns what else there is of that age; empty if there is nothing. */
function recordsText(records: OldRecords, rejections: number): string {
  const databases = new Set(records.databases.map(({ database }) => database)).size;
  return [
    counted(records.conflictCopies, 'conflict copy', 'conflict copies'),
    counted(rejections, 'rejection'),
    counted(databases, 'old database'),
  ]
    .filter((text) => !text.startsWith('0 '))
    .join(', ');
}

/** Asks before deleting more than half of all events. @throws {OperatorError} unless the answer is yes. */
async function confirm(db: Database, which: PruneSelection): Promise<void> {
  const { events, of } = countExpired(db, which);
  if (2 * events <= of) return;
  const what = `${events} of ${of} events, more than half, would be deleted`;
  await confirmed(what, 'Delete them?', 'nothing was deleted');
}
