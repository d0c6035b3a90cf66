import fs from 'node:fs';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { type PreviousFile, previousFiles } from '../db/previousDatabases.ts';
import { isOfAll, type PruneSelection } from './expiredEvents.ts';

/** What holds events besides the events themselves, and is as old as those that a prune deletes. */
export interface OldRecords {
  /** What came again with other content, as old as its last coming. */
  readonly conflictCopies: number;
  /** Databases that a restore has replaced, as old as that, and copies of an upgrade, as old as the file. */
  readonly databases: readonly PreviousFile[];
}

/** SQL for the conflict copies that are due. With a type only those of that type; of a session they go with its events. */
const OLD_COPIES = `
  FROM conflict_copy WHERE seq IN (
    SELECT e.seq FROM event e JOIN conflict c ON c.session = e.session AND c.seq = e.seq
     WHERE e.seq IN (SELECT seq FROM conflict_copy) AND @session IS NULL
       AND c.last_ms >= ${EARLIEST_RECEIVED_MS} AND c.last_ms < @beforeMs
       AND (@type IS NULL OR e.origin IN (SELECT id FROM origin WHERE type = @type)))`;

/** With a type or a session no databases are found: they hold events of all. */
export function findOldRecords(db: Database, selection: PruneSelection): OldRecords {
  const count = db.prepare<[object], number>(`SELECT count(*) ${OLD_COPIES}`).pluck();
  const isDue = ({ ms }: PreviousFile) => ms >= EARLIEST_RECEIVED_MS && ms < selection.beforeMs;
  return {
    conflictCopies: count.get({ type: null, session: null, ...selection })!,
    databases: isOfAll(selection) ? previousFiles(DataDirectory.of(db.name)).filter(isDue) : [],
  };
}

/** Call it inside a transaction. */
export function deleteOldCopies(db: Database, selection: PruneSelection): void {
  db.prepare(`DELETE ${OLD_COPIES}`).run({ type: null, session: null, ...selection });
}

/** Deletes files of databases that nothing refers to any more. @throws Node's error. */
export function removeDatabases(directory: DataDirectory, { databases }: OldRecords): void {
  for (const { name } of databases) {
    try {
      // Not rmSync: it drops the code of an error that it does not know, such as EIO.
      fs.unlinkSync(directory.at(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
