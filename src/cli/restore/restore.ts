import fs from 'node:fs';
import path from 'node:path';
import { partialNameOf, removePartial } from '../../base/atomicFile.ts';
import { cleanUpOnExit } from '../../base/signals.ts';
import { counted, isoTime } from '../../base/units.ts';
import { ReplacedDatabase } from '../../store/backup/replacedDatabase.ts';
import { type Restored, restoreDatabase } from '../../store/backup/restore.ts';
import { databaseFile } from '../../store/directory/dataDirectory.ts';
import { explain } from '../../store/open/openErrors.ts';
import { type Salvaged, salvage } from '../../store/salvage.ts';
import { Store, UNLOGGED } from '../../store/store.ts';
import type { DataOption } from '../options/withDatabase.ts';
import { type JsonOption, Progress, printJson, say } from '../terminal/output.ts';

export interface RestoreOptions extends DataOption, JsonOption {
  readonly salvage?: boolean;
}

export async function restore(file: string, options: RestoreOptions): Promise<void> {
  // It becomes the owner of the directory.
  const sudo = process.getuid?.() === 0 ? 'sudo ' : '';
  const cancelCleanup = cleanUpOnExit(() => removePartial(partialNameOf(databaseFile(options.data))));
  const restored = await restoreDatabase(options.data, file);
  cancelCleanup();
  const { events, sessions, newestMs, previousDatabase } = restored;
  const newest_received_at = isoTime(newestMs);
  const newest = newest_received_at === null ? '' : `, the newest received at ${newest_received_at}`;
  const tell = options.json ? () => {} : say;
  tell(`Restored ${file}: ${counted(events, 'event')} of ${counted(sessions, 'session')}${newest}.`);
  if (restored.damage !== undefined) tell(restored.damage);
  tell('The tokens are those of the backup: "courtd token list" shows them.');
  let salvaged: Salvaged | null = null;
  if (previousDatabase !== null) {
    if (options.salvage) salvaged = await salvageFrom(previousDatabase, restored, options.data, tell);
    else if (!options.json) adviseSalvage(previousDatabase, restored, options.data, sudo);
    tell(`The replaced database is kept as ${previousDatabase}: remove it when it is no longer needed.`);
  }
  if (!options.json) return;
  printJson({
    restored: file,
    events,
    sessions,
    newest_received_at,
    replaced_kept_as: previousDatabase,
    salvaged,
  });
}

/** @returns null where nothing of it can be read. @throws {OperatorError} where what is read cannot be stored. */
async function salvageFrom(
  file: string,
  restored: Restored,
  data: string,
  tell: (sentence: string) => void,
): Promise<Salvaged | null> {
  const replaced = ReplacedDatabase.open(file, restored);
  if (replaced === undefined) {
    tell('Nothing can be read in the replaced database, so nothing was salvaged.');
    return null;
  }
  const salvaged = { events: 0, accepted: 0, duplicates: 0, conflicts: 0, unreadable: 0 };
  const progress = new Progress();
  try {
    const store = await Store.open(
      data,
      { ...UNLOGGED, fatal: (error) => endAt(error, data) },
      { exists: true },
    );
    try {
      await salvage(replaced, store, salvaged, (events) =>
        progress.show(() => `${counted(events, 'event')} salvaged`),
      );
    } finally {
      await store.close();
    }
  } finally {
    progress.clear();
    replaced.close();
    tell(sentenceOf(salvaged));
  }
  return salvaged;
}

function sentenceOf({ events, accepted, duplicates, conflicts, unreadable }: Salvaged): string {
  const note = conflicts === 0 ? '' : ` (${conflicts} with different content than what is stored)`;
  const lost = unreadable === 0 ? '' : ` Up to ${counted(unreadable, 'event')} could not be read.`;
  return (
    `Salvaged from the replaced database: ${counted(events, 'event')} that the backup does not have: ${accepted} accepted, ` +
    `${counted(duplicates, 'duplicate')}${note}.${lost}`
  );
}

/** What --salvage does, step by step. */
function adviseSalvage(file: string, restored: Restored, data: string, sudo: string): void {
  const replaced = ReplacedDatabase.open(file, restored);
  if (replaced === undefined) return;
  try {
    if (replaced.arrivals().next().done) return;
    const aside = path.join(data, 'salvage');
    const copies = ['', '-wal'].filter((part) => fs.existsSync(file + part));
    say(
      'The replaced database holds events that this backup does not have. "--salvage" would have imported them; by hand:',
    );
    say(`  ${sudo}mkdir ${quoted(aside)}`);
    for (const part of copies)
      say(`  ${sudo}cp -a ${quoted(file + part)} ${quoted(databaseFile(aside) + part)}`);
    say(
      `  ${sudo}courtd tail --json --after ${replaced.after} --data ${quoted(aside)} | ${sudo}courtd import - --data ${quoted(data)}`,
    );
    say(
      'Where a page is damaged, "courtd export SESSION --format ndjson" of each session gives what follows it.',
    );
  } finally {
    replaced.close();
  }
}

/** @returns a word of a shell. */
function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The database is not closed: what it would still write cannot be trusted (design 5). */
function endAt(error: unknown, data: string): never {
  const reason = explain(error, data);
  say(`courtd: ${reason instanceof Error ? reason.message : reason} What was restored stays.`);
  process.exit(1);
}
