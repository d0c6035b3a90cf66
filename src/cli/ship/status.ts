import type { Database } from 'better-sqlite3';
import { askReport } from '../../fleet/feed/feedClient.ts';
import { readShipView } from '../../fleet/feed/readShipStatus.ts';
import { knownShipped, readNote } from '../../fleet/feed/shipNote.ts';
import type { ShipSettings } from '../../fleet/ship/settings.ts';
import { type ShipStatus, shipStatusOf } from '../../health/shipStatus.ts';
import { beginEpoch, readEpochs } from '../../store/layout/epochs.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { type JsonOption, printData, printJson, printPairs, say } from '../terminal/output.ts';

export async function shipStatus(options: DataOption & JsonOption & ShipSettings): Promise<void> {
  const status = await withDatabase(options, (db) => shipObject(db, options));
  if (options.json) return printJson(status);
  const text = (value: string | number | null) => (value === null ? '-' : String(value));
  printPairs([
    ['state', status.state],
    ['to', text(status.url)],
    ['box', text(status.box)],
    ['epoch', text(status.epoch)],
    ['shipped up to seq', text(status.shipped_seq)],
    ['newest seq', text(status.newest_seq)],
    ['events behind', text(status.behind_events)],
    ['seconds behind', text(status.behind_s)],
    ['last acknowledged', text(status.last_ack_at)],
    ...(status.error === null ? [] : [['error', status.error] as const]),
  ]);
}

/** @returns the object of `ship status --json`. */
export async function shipObject(
  db: Database,
  { data, url, box }: DataOption & ShipSettings,
): Promise<ShipStatus> {
  return shipStatusOf(await readShipView(data, db, { url, box }));
}

/** `courtd ship epoch [--new]`: prints the name of the epoch. */
export async function epoch(options: DataOption & JsonOption & { readonly new?: boolean }): Promise<void> {
  await withDatabase(options, async (db) => {
    if (options.new === true) {
      const report = (await askReport(options.data)) ?? readNote(options.data);
      db.transaction(() => beginEpoch(db, knownShipped(report, readEpochs(db)) ?? 0)).immediate();
      say(
        'A new epoch begins: this box ships a log of its own from now on. Start the shipper again if it was fenced.',
      );
    }
    const { name } = readEpochs(db).at(-1)!;
    if (options.json) printJson({ epoch: name });
    else printData(`${name}\n`);
  });
}
