import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { type PreviousFile, previousFiles } from '../db/previousDatabases.ts';
import { isOfAll, type PruneSelection } from './expiredEvents.ts';

/** What holds events besides the events themselves, and is as old as those that a prune deletes. */
export interface OldRecords {
  /** Events that came again with other content, as old as the last time. */
  readonly conflictCopies: number;
  /** Databases that a restore has replaced, as old as that, and copies of an upgrade, as old as the file. */
  readonly databases: readonly PreviousFile[];
}

const OLD_COPIES = `
  FROM conflict_copy WHERE seq IN (SELECT seq FROM conflict WHERE last_ms >= ${EARLIEST_RECEIVED_MS} AND last_ms < @beforeMs)`;

/** With a type or a session nothing is found: these hold events of all. */
export function findOldRecords(db: Database, selection: PruneSelection): OldRecords {
  if (!isOfAll(selection)) return { conflictCopies: 0, databases: [] };
  const count = db.prepare<[object], number>(`SELECT count(*) ${OLD_COPIES}`).pluck();
  const isDue = ({ ms }: PreviousFile) => ms >= EARLIEST_RECEIVED_MS && ms < selection.beforeMs;
  return {
    conflictCopies: count.get(selection)!,
    databases: previousFiles(DataDirectory.of(db.name)).filter(isDue),
  };
}

/** Call it inside a transaction. */
export function deleteOldCopies(db: Database, selection: PruneSelection): void {
  if (isOfAll(selection)) db.prepare(`DELETE ${OLD_COPIES}`).run(selection);
}
