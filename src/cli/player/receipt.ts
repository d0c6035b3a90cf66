import fs from 'node:fs';
import path from 'node:path';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { BACKUPS_KEPT } from '../../base/limits.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { counted, DAY_MS, isoTime, NS_PER_MS } from '../../base/units.ts';
import { courtdVersion } from '../../base/version.ts';
import { placeOf, readNote } from '../../fleet/feed/shipNote.ts';
import { shownUrl } from '../../fleet/nats/address.ts';
import { serviceOf } from '../../host/unitSettings.ts';
import { BACKUP_NAME, backupPlaces, lastBackupMs } from '../../store/backup/lastBackup.ts';
import type { Erased } from '../../store/erasure/erase.ts';
import type { FoundPlayer } from '../../store/erasure/foundPlayer.ts';
import { previousFiles } from '../../store/open/previousDatabases.ts';
import { parsePeriod } from '../options/optionParsers.ts';

/** Somewhere that still holds him. */
interface HeldCopy {
  readonly what: 'this_box' | 'backup' | 'old_database' | 'copy' | 'headquarters';
  readonly where: string;
  /** When it is gone, milliseconds since 1970-01-01T00:00:00Z; null: nobody knows, it is somebody's to remove. */
  readonly untilMs: number | null;
  readonly todo: string;
}

export interface Receipt {
  readonly player: string;
  readonly beforeNs: bigint | undefined;
  readonly isDry: boolean;
  readonly atMs: number;
  readonly erased: Erased;
  readonly refusedBodies: number;
  /** What was known before. */
  readonly found: FoundPlayer;
  readonly copies: readonly HeldCopy[];
}

/** @returns where his events may still be, as far as this box knows. @param later how many stay here, from `beforeNs` on. */
export async function copiesOf(
  data: DataDirectory,
  { later, beforeNs }: { readonly later: number; readonly beforeNs: bigint | undefined },
): Promise<HeldCopy[]> {
  const { settings } = await serviceOf(data);
  return [
    ...kept(later, beforeNs),
    ...backups(data, settings),
    ...oldDatabases(data, settings),
    ...shipped(data, settings),
  ];
}

type Settings = Readonly<Record<string, string>>;

function* kept(later: number, beforeNs: bigint | undefined): Generator<HeldCopy> {
  if (later === 0 || beforeNs === undefined) return;
  const todo = `${counted(later, 'event')} from ${isoOf(beforeNs)} on`;
  yield { what: 'this_box', where: 'this box', untilMs: null, todo };
}

/** @returns a time that is given in nanoseconds since 1970-01-01T00:00:00Z, to the millisecond. */
export function isoOf(ns: bigint): string {
  return new Date(Number(ns / NS_PER_MS)).toISOString();
}

function* backups(data: DataDirectory, settings: Settings): Generator<HeldCopy> {
  const { COURTD_BACKUP_DIR: place, COURTD_BACKUP_KEEP: keep = String(BACKUPS_KEPT) } = settings;
  const names = place === undefined ? [] : namesIn(place).filter((name) => BACKUP_NAME.test(name));
  for (const name of names) {
    const days = Number(keep) - names.filter((other) => other > name).length;
    yield {
      what: 'backup',
      where: `${place}/${name}`,
      untilMs: Date.now() + days * DAY_MS,
      todo: 'goes with the nightly backups that follow; a restore of it on this box erases him again, and after one on a new disk he has to be erased again',
    };
  }
  const places = backupPlaces(data);
  for (const [file, at] of places) {
    const todo = `the latest there is of ${at}: remove it, or replace it with a new one`;
    if (file !== place && !isGone(file)) yield { what: 'backup', where: file, untilMs: null, todo };
  }
  const lastMs = lastBackupMs(data);
  if (names.length + places.size > 0 || lastMs === undefined) return;
  yield {
    what: 'backup',
    where: `a backup of ${isoTime(lastMs)}, wherever it was written to`,
    untilMs: null,
    todo: 'remove it, or replace it with a new one',
  };
}

/** Whether a backup, or what a directory had of them, has been removed: an empty directory may be that of a stick that is away. */
function isGone(place: string): boolean {
  const isFile = place.endsWith('.db');
  const names = namesIn(isFile ? path.dirname(place) : place);
  const isOne = (name: string) => (isFile ? name === path.basename(place) : BACKUP_NAME.test(name));
  return names.length > 0 && !names.some(isOne);
}

function namesIn(place: string): string[] {
  try {
    return asCaller(() => fs.readdirSync(place)).sort();
  } catch {
    return [];
  }
}

function* oldDatabases(data: DataDirectory, { COURTD_KEEP: keep }: Settings): Generator<HeldCopy> {
  const ageMs = keep === undefined || Number.parseInt(keep, 10) === 0 ? undefined : parsePeriod(keep) * 1_000;
  for (const { name, ms } of previousFiles(data)) {
    yield {
      what: 'old_database',
      where: data.at(name),
      untilMs: ageMs === undefined ? null : ms + ageMs,
      todo:
        ageMs === undefined
          ? 'may still hold him: remove it'
          : 'may still hold him: goes with the events of its age; remove it to be done sooner',
    };
  }
}

/** Where the settings lead now, and where a shipper has been before. */
function* shipped(
  data: DataDirectory,
  { COURTD_SHIP_URL: url, COURTD_SHIP_BOX: box, COURTD_SHIP_PLAYERS: players }: Settings,
): Generator<HeldCopy> {
  const note = readNote(data);
  const shown = url === undefined ? note?.url : shownUrl(url);
  const now = shown && placeOf(shown, box ?? note?.box);
  const places = new Set(note?.named_to);
  if (now !== undefined && url !== undefined && players !== 'pseudonym') places.add(now);
  for (const where of places) {
    if (where.startsWith('file:')) {
      const todo =
        where === now
          ? 'the shipper writes it anew when it is there: see "courtd ship status"'
          : 'events went there earlier; where it still exists, remove it, or ship there again, which writes it anew';
      yield { what: 'copy', where, untilMs: null, todo };
    } else {
      const todo = 'headquarters must erase him, too: FLEET.md says how';
      yield { what: 'headquarters', where, untilMs: null, todo };
    }
  }
}

function whenOf(beforeNs: bigint | undefined): string {
  return beforeNs === undefined ? '' : `, as far as they happened before ${isoOf(beforeNs)}`;
}

/** @returns what the operator is asked about, as a sentence without its end. */
export function questionOf(receipt: Receipt): string {
  const { player, beforeNs, erased, refusedBodies, found, copies } = receipt;
  const { emptied, renamed, sessions, conflictCopies, rejections } = erased;
  const events = emptied + renamed;
  const held =
    copies.length === 1
      ? '1 place would still hold him ("--dry-run" names it)'
      : `${copies.length} places would still hold him ("--dry-run" names them)`;
  return [
    `${counted(events, 'event')} of ${counted(sessions, 'session')} (${found.own} of his own; ${events - found.own} of others that hold his id in another field)${whenOf(beforeNs)}${beforeNs === undefined ? '' : ','} would lose the player ${JSON.stringify(player)}`,
    `${counted(conflictCopies, 'conflict')}, ${counted(rejections, 'rejection')} and ${counted(refusedBodies, 'refused request')} that name him or cannot be read would go`,
    ...(copies.length === 0 ? [] : [held]),
    'and that cannot be undone',
  ].join('; ');
}

/** @returns the receipt, to be handed to the player: as JSON, and for people. */
export function receiptText(receipt: Receipt): { json: object; lines: string } {
  const { player, beforeNs, isDry, atMs, erased, refusedBodies, found, copies } = receipt;
  const { namedSessions, namedSources, mentioned, own, wasErased, isBegun } = found;
  const { emptied, renamed, sessions, conflictCopies, rejections, remainingPages, files } = erased;
  const ends = copies.map(({ untilMs }) => untilMs);
  const lastMs = ends.includes(null) ? null : Math.max(atMs, ...ends.map(Number));
  const before = beforeNs === undefined ? null : isoOf(beforeNs);
  const version = courtdVersion();
  const json = {
    player_id: player,
    before,
    dry_run: isDry,
    at: isoTime(atMs),
    version,
    events: emptied + renamed,
    own_events: own,
    emptied,
    renamed,
    sessions,
    conflict_copies: conflictCopies,
    rejections,
    refused_bodies: refusedBodies,
    named_sessions: namedSessions,
    named_sources: namedSources,
    mentioned_events: mentioned,
    was_erased: wasErased,
    was_begun: isBegun,
    remaining_pages: remainingPages,
    remaining_files: files,
    copies: copies.map(({ untilMs, ...copy }) => ({ ...copy, until: isoTime(untilMs) })),
    last_copy_gone: isoTime(lastMs),
  };
  const others = Math.max(0, emptied + renamed - own);
  const [was, lost, stands] = isDry
    ? ['would be', `would lose all that ${emptied === 1 ? 'it says' : 'they say'}`, 'would stand']
    : ['was', `lost all that ${emptied === 1 ? 'it' : 'they'} said`, 'stands'];
  const isNothing =
    wasErased && !isBegun && emptied + renamed + conflictCopies + rejections + refusedBodies === 0;
  const what = [
    `The player ${JSON.stringify(player)} ${was} taken out of ${counted(emptied + renamed, 'event')} of ${counted(sessions, 'session')}${whenOf(beforeNs)}: ${own} of his own, and ${others} of others that hold his id in another field.`,
    `  ${counted(emptied, 'position or identity', 'positions and identities')} ${lost}; ${emptied === 1 ? 'its' : 'their'} time, court and camera stay.`,
    `  In ${counted(renamed, 'event')} a random name ${stands} in his place, another one in each session.`,
    `${counted(conflictCopies, 'conflict')} kept as sent, ${counted(rejections, 'rejection')} and ${counted(refusedBodies, 'refused request')} ${isDry ? 'that name him or cannot be read would go' : 'that named him or could not be read are gone'}.`,
  ];
  const lines = [
    `${isDry ? 'Dry run: nothing was changed.' : `Erased on ${isoTime(atMs)} by courtd ${version}.`}`,
    ...(isNothing
      ? [
          `The player ${JSON.stringify(player)} was erased before; nothing ${beforeNs === undefined ? '' : 'of that time '}was found of him.`,
        ]
      : what),
  ];
  if (!isDry) {
    lines.push(
      remainingPages + files.length === 0
        ? 'Every byte of the data directory was read afterwards: nothing of what was erased is left.'
        : `Something of what was erased is left in ${[...(remainingPages > 0 ? [counted(remainingPages, 'page')] : []), ...files].join(', ')}: run this again.`,
    );
  }
  if (isBegun)
    lines.push('An erasure of him had been ended in the middle: what that one did is not counted here.');
  const kept = [
    [mentioned, `${counted(mentioned, 'event')} (an event_id, or more text around it)`],
    [namedSessions, `the name of ${counted(namedSessions, 'session')}`],
    [namedSources, `the venue, court or source of ${counted(namedSources, 'kind')} of events`],
  ] as const;
  const parts = kept.filter(([count]) => count > 0).map(([, text]) => text);
  if (parts.length > 0)
    lines.push(
      `His id is also a part of ${parts.join(', and of ')}: that stays, since a resend is recognised by it or it may mean somebody else.`,
    );
  lines.push(
    copies.length === 0 ? 'This box knows of no copy that still holds him.' : 'What still holds him:',
  );
  for (const { where, untilMs, todo } of copies) {
    const until = untilMs === null ? '' : `until ${new Date(untilMs).toISOString().slice(0, 10)}; `;
    lines.push(`  ${where}: ${until}${todo}.`);
  }
  if (copies.length > 0 && lastMs !== null)
    lines.push(`The last of them is gone on ${new Date(lastMs).toISOString().slice(0, 10)}.`);
  return { json, lines: `${lines.join('\n')}\n` };
}
