import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { type Epoch, readEpochs } from '../db/epochs.ts';
import { addErasures, type Erasure, readErasures } from '../write/ledger.ts';

/** The part of a database that a restore keeps: a backup does not know the players who were erased after it. */
export interface Kept {
  readonly erasures: readonly Erasure[];
  readonly epochs: readonly Epoch[];
}

export const NOBODY: Kept = { erasures: [], epochs: [] };

/** @returns the part of the database at `target` that outlives it; undefined if that cannot be read. */
export function keptOf(target: string): Kept | undefined {
  try {
    const db = new Database(target, { readonly: true, fileMustExist: true, timeout: COMMAND_BUSY_MS });
    try {
      return { erasures: readErasures(db), epochs: readEpochs(db) };
    } finally {
      db.close();
    }
  } catch {
    return undefined;
  }
}

/** Puts it into a restored database, to be applied (erase.ts). @throws {SqliteError} */
export function keep(db: Database.Database, { erasures }: Kept): void {
  const unapplied = erasures.map((one) => ({ ...one, finishedMs: null }));
  db.transaction(() => addErasures(db, unapplied)).immediate();
}
