import { askReport } from '../../fleet/feed/feedClient.ts';
import { knownShipped, readNote } from '../../fleet/feed/shipNote.ts';
import { beginEpoch, readEpochs } from '../../store/layout/epochs.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import { type JsonOption, printData, printJson, say } from '../terminal/output.ts';

/** `courtd ship epoch [--new]`: prints the name of the epoch. */
export async function epoch(options: DataOption & JsonOption & { readonly new?: boolean }): Promise<void> {
  await withDatabase(options, async (db) => {
    if (options.new === true) {
      const report = (await askReport(options.data)) ?? readNote(options.data);
      db.transaction(() => beginEpoch(db, knownShipped(report, readEpochs(db)) ?? 0)).immediate();
      say(
        'A new epoch begins: this box ships under another subject from now on. Start the shipper again if it was fenced.',
      );
    }
    const { name } = readEpochs(db).at(-1)!;
    if (options.json) printJson({ epoch: name });
    else printData(`${name}\n`);
  });
}
