import { partialNameOf, removePartial } from '../../base/atomicFile.ts';
import { restoreDatabase } from '../../store/backup/restore.ts';
import { databaseFile } from '../../store/directory/dataDirectory.ts';
import type { DataOption } from '../options/withDatabase.ts';
import { counted, isoTime, type JsonOption, printJson, say } from '../terminal/output.ts';
import { cleanUpOnExit } from '../terminal/signals.ts';

export async function restore(file: string, options: DataOption & JsonOption): Promise<void> {
  const cancelCleanup = cleanUpOnExit(() => removePartial(partialNameOf(databaseFile(options.data))));
  const { events, sessions, newestMs, previousDatabase } = await restoreDatabase(options.data, file);
  cancelCleanup();
  const newest_received_at = isoTime(newestMs);
  if (options.json) {
    return printJson({
      restored: file,
      events,
      sessions,
      newest_received_at,
      replaced_kept_as: previousDatabase,
    });
  }
  const newest = newest_received_at === null ? '' : `, the newest received at ${newest_received_at}`;
  say(`Restored ${file}: ${counted(events, 'event')} of ${counted(sessions, 'session')}${newest}.`);
  say('The tokens are those of the backup: "courtd token list" shows them.');
  if (previousDatabase !== null)
    say(`The replaced database is kept as ${previousDatabase}: remove it when it is no longer needed.`);
}
