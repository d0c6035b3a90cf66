import fs from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { createPartial, publish, removeLeftovers, removePartial } from '../../base/atomicFile.ts';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { bytesFor } from '../../base/units.ts';
import { freeBytes } from './diskReserve.ts';
import { preMigrationCopyOf } from './previousDatabases.ts';
import { migrate } from './schema.ts';

/** Disk space that an upgrade needs, in percent of the database: the copy, the write-ahead log (34 for small events), and growth (18). */
const UPGRADE_ROOM_PERCENT = 170;

/**
 * Upgrades a database of an older layout in one transaction, after copying it. The process does nothing else meanwhile, and the unit
 * of the daemon waits for it.
 * @param from its layout. No other program may have it open.
 * @returns the path of the copy.
 * @throws {OperatorError} if there is no room for the copy, or it fails: nothing was changed.
 * @throws {SqliteError} if a migration fails: nothing was changed.
 */
export function upgradeDatabase(db: Database, from: number): string {
  const copy = preMigrationCopyOf(db.name, from);
  removeLeftovers(path.dirname(copy), (name) => name === path.basename(copy));
  const needed = (fs.statSync(db.name).size * UPGRADE_ROOM_PERCENT) / 100;
  const free = freeBytes(DataDirectory.of(db.name));
  // Checked beforehand: systemd restarts the daemon every second, and each attempt would fill the disk and wear it.
  if (free < needed)
    throw new OperatorError(
      `${db.name} is upgraded only after it has been copied, which needs ${bytesFor(needed)}, and ${bytesFor(free)} are free. Nothing was changed. Free some space.`,
    );
  const partial = createPartial(copy);
  try {
    db.prepare('VACUUM INTO ?').run(partial);
    publish(partial, copy);
  } catch (error) {
    removePartial(partial);
    throw new OperatorError(
      `${db.name} is upgraded only after it has been copied, and the copy failed. ${(error as Error).message} Nothing was changed.`,
    );
  }
  db.transaction(() => migrate(db)).immediate();
  return copy;
}
