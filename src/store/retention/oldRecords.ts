import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { type PreviousFile, previousFiles } from '../open/previousDatabases.ts';
import { isOld, type PruneSelection } from './expiredEvents.ts';

/** What holds events besides the events themselves, and is as old as those that a prune deletes. */
export interface OldRecords {
  /** Their turns: what came again with other content, as old as its last coming. */
  readonly conflictCopies: readonly number[];
  /** Databases that a restore has replaced, as old as that, and copies of an upgrade, as old as the file. */
  readonly databases: readonly PreviousFile[];
}

/** With a type only conflict copies of that type are found: the others hold events of all types. Of a session there are none. */
export function findOldRecords(db: Database, selection: PruneSelection): OldRecords {
  const { type = null, session } = selection;
  if (session !== undefined) return { conflictCopies: [], databases: [] };
  const copies = db.prepare<[object], { readonly turn: number; readonly ms: number }>(`
    SELECT o.turn, c.last_ms AS ms
      FROM conflict_copy o
      JOIN event e ON e.seq = o.seq
      JOIN conflict c ON c.session = e.session AND c.seq = o.seq
     WHERE @type IS NULL OR e.origin IN (SELECT id FROM origin WHERE type = @type)
     ORDER BY o.turn`);
  const isDue = ({ ms }: { readonly ms: number }) => isOld(ms, selection);
  return {
    conflictCopies: copies
      .all({ type })
      .filter(isDue)
      .map(({ turn }) => turn),
    databases: type === null ? previousFiles(DataDirectory.of(db.name)).filter(isDue) : [],
  };
}

/** Deletes files of databases that nothing refers to any more. @throws Node's error. */
export function removeDatabases(directory: DataDirectory, { databases }: OldRecords): void {
  for (const { name } of databases) {
    try {
      // Not rmSync, whose errors have no code where it does not know them, EIO among them.
      fs.unlinkSync(directory.at(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
