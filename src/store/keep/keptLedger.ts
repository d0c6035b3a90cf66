import Database from 'better-sqlite3';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { type Epoch, readEpochs } from '../db/epochs.ts';
import { addErasures, type Erasure, readErasures } from '../write/ledger.ts';

/** What outlives a database that a restore replaces: a backup knows nothing of who was erased after it. */

/** What of a database outlives it. */
export interface Kept {
  readonly erasures: readonly Erasure[];
  readonly epochs: readonly Epoch[];
}

export const NOBODY: Kept = { erasures: [], epochs: [] };

/**
 * One of another box than the one that made the backup, such as a new one, does not know who was erased there.
 * @returns why the kept database does not say whom to erase again; undefined if it does.
 */
export function ledgerFault(
  kept: Kept | undefined,
  { epochs }: Pick<Kept, 'epochs'>,
): 'missing' | 'unreadable' | undefined {
  if (kept === undefined) return 'unreadable';
  const isSame = kept.epochs.some(({ name }) => epochs.some((one) => one.name === name));
  return isSame ? undefined : 'missing';
}

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
