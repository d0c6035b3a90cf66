import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { counted, isoTime, NS_PER_MS } from '../../base/units.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { assertDaemonRuns, haveDone } from '../../control/controlClient.ts';
import { ERASE_PATH, type EraseBody } from '../../control/workRoutes.ts';
import { shownUrl } from '../../fleet/nats/address.ts';
import { copyReport } from '../../fleet/report/copyReport.ts';
import { runDirectory } from '../../fleet/report/reportFile.ts';
import { shipReport } from '../../fleet/report/shipReport.ts';
import { serviceOf } from '../../host/serviceSettings.ts';
import { mayName, type Naming, naming } from '../../protocol/playerRedaction.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { previousFiles } from '../../store/db/previousDatabases.ts';
import { type Erased, findPlayer } from '../../store/keep/erase.ts';
import { BACKUP_NAME, lastBackup } from '../../store/keep/lastBackup.ts';
import { isNamed, newestRefused, withRefused } from '../../store/refused/refusedFile.ts';

import { confirmed } from '../terminal/confirm.ts';
import { type JsonOption, printJson, printText, progress, showWork } from '../terminal/output.ts';

interface EraseOptions extends DataOption, JsonOption {
  /** Only events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; absent: all. */
  readonly before?: bigint;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `courtd player erase P`. */
export async function erase(player: string, options: EraseOptions): Promise<void> {
  yieldToIngest();
  const { data, before, dryRun = false } = options;
  if (before !== undefined && before > BigInt(Date.now()) * NS_PER_MS)
    throw new UsageError(`--before ${isoOf(before)} is in the future. Give a time that has passed.`);
  if (!dryRun) await assertDaemonRuns(data);
  const told = (events: number) => progress.show(() => `${events} events read`);
  const found = await withDatabase(options, (db) => findPlayer(db, player, before, told));
  const names = naming(player);
  const refused = async (by: Naming) =>
    (await withRefused(data, (db) => newestRefused(db, -1).filter((one) => isNamed(db, one, by)).length)) ??
    0;
  const { emptied, renamed, sessions, conflictCopies, wasErased } = found;
  const named = emptied + renamed + conflictCopies;
  if (named === 0 && !wasErased && (await refused(names)) === 0)
    throw new OperatorError(
      `No event names the player ${JSON.stringify(player)}. "courtd player list" shows those that are named.`,
    );
  const places = await placesOf(data);
  const print = (erased: Erasure) => printReceipt(player, options, erased, found, places);
  if (dryRun) return print({ ...found, rejections: await refused(mayName(names)) });
  if (!options.yes) {
    const what = `${counted(emptied + renamed, 'event')} of ${counted(sessions, 'session')} would lose the player ${JSON.stringify(player)}, which cannot be undone`;
    await confirmed(what, 'Erase this player?', 'nothing was erased');
  }
  const request: EraseBody = { player, ...(before !== undefined && { before: String(before) }) };
  print(await haveDone<Erasure>(data, ERASE_PATH, request, showWork));
}

const isoOf = (ns: bigint) => isoTime(Number(ns / NS_PER_MS));

interface Place {
  readonly kind: 'backup' | 'copy' | 'headquarters';
  readonly place: string;
}

/** @returns where a player may still be named, as far as this box knows. */
async function placesOf(data: DataDirectory): Promise<Place[]> {
  const { settings } = serviceOf(data);
  const { COURTD_BACKUP_DIR: folder, COURTD_COPY_DIR: copyDir, COURTD_SHIP_URL: url } = settings;
  const files = folder === undefined ? [] : fs.globSync('*.db', { cwd: folder }).sort();
  const nightly = files.filter((name) => BACKUP_NAME.test(name));
  const { ms, places } = lastBackup(data);
  const backups = new Set([
    ...nightly.map((name) => `${folder}/${name}`),
    ...places.filter((place) => place !== folder),
    ...previousFiles(data).map(({ name }) => data.at(name)),
  ]);
  if (backups.size === 0 && ms !== undefined) backups.add(`a backup of ${isoTime(ms)}`);
  const copies = new Set([copyDir, copyReport.read(runDirectory(settings, data.path))?.place]);
  const report = shipReport.read(runDirectory(settings, data.path));
  const shipped = url === undefined ? report?.url : shownUrl(url);
  const isNamedThere = settings.COURTD_SHIP_PLAYERS !== 'pseudonym';
  const all = (kind: Place['kind'], places: Iterable<string | undefined>) =>
    [...places].flatMap((place) => (place === undefined ? [] : { kind, place }));
  return [
    ...all('backup', backups),
    ...all('copy', copies),
    ...all('headquarters', isNamedThere ? [shipped] : []),
  ];
}

/** What the daemon did. */
interface Erasure extends Erased {
  readonly rejections: number;
}

/** Prints the receipt, for the player. @param erased in a dry run, what would be erased. */
function printReceipt(
  player: string,
  { before, dryRun = false, json }: EraseOptions,
  { emptied, renamed, sessions, conflictCopies, rejections }: Erasure,
  { wasErased }: { readonly wasErased: boolean },
  places: readonly Place[],
): void {
  const at = new Date().toISOString();
  if (json)
    return printJson({
      player_id: player,
      before: before === undefined ? null : isoOf(before),
      dry_run: dryRun,
      at,
      events: emptied + renamed,
      ...{ emptied, renamed, sessions, rejections, places },
      conflict_copies: conflictCopies,
      was_erased: wasErased,
    });
  const when = before === undefined ? '' : `, as far as they happened before ${isoOf(before)}`;
  const [is, are] = dryRun ? ['would be', 'would be'] : ['was', 'were'];
  const sentences = [
    dryRun ? 'Dry run: nothing was changed.' : `Erased at ${at}.`,
    `The player ${JSON.stringify(player)} ${is} taken out of ${counted(emptied + renamed, 'event')} of ${counted(sessions, 'session')}${when}.`,
    `The content of ${counted(emptied, 'position or identity', 'positions and identities')} ${is} deleted; time, court and camera stay.`,
    `In ${counted(renamed, 'event')} the id ${is} replaced by another name, a different one in each session.`,
    `${counted(conflictCopies, 'conflict copy', 'conflict copies')} and ${counted(rejections, 'rejection')} that name this player or cannot be read ${are} deleted.`,
    wasErased && 'This player was erased before. The numbers do not include that erasure.',
    'The id inside a longer text stays as it is.',
    'Unused space of the database may hold old bytes until it is used again; a backup made from now on has none of them.',
    'Events of this player that are restored, imported or sent late are erased on arrival.',
    places.length === 0
      ? 'This box knows of no other place that names this player.'
      : 'These places may still name this player; delete or erase there, too:',
    ...places.map(({ kind, place }) => `  ${kind}: ${place}`),
  ];
  printText(`${sentences.filter(Boolean).join('\n')}\n`);
}
