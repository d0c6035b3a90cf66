import type { Database } from 'better-sqlite3';
import type { ShipStatus } from '../../fleet/feed/shipNote.ts';
import { readShipView, shipStatusOf } from '../../fleet/feed/shipStatus.ts';
import type { ShipSettings } from '../../fleet/ship/settings.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import { type JsonOption, printJson, printPairs } from '../terminal/output.ts';

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
