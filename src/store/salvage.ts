import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { BUSY_GIVE_UP_MS, COMMAND_BUSY_MS } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import { decodeBatch } from '../protocol/decodeBatch.ts';
import { Problem } from '../protocol/errors.ts';
import { type Arrival, type CourtEvent, eventToJson } from '../protocol/event.ts';
import { ReplacedDatabase } from './backup/replacedDatabase.ts';
import type { Restored } from './backup/restore.ts';
import { explain } from './open/openErrors.ts';
import { Store, type StoreEvents, UNLOGGED } from './store.ts';

/** What has been taken over from a replaced database. */
export interface Salvaged {
  /** Those that could be read, and were not in the backup. */
  events: number;
  accepted: number;
  duplicates: number;
  conflicts: number;
  /** Seqs whose event could not be read; some of them may never have had one. */
  unreadable: number;
}

/**
 * Stores what can still be read in a replaced database and is not in the backup, as an import of it would.
 * @param file the replaced database.
 * @param told how many events have been read.
 * @param failed why the disk has failed: then the process ends.
 * @returns whether anything of it can be read.
 * @throws {OperatorError} where they cannot be stored: what was stored before stays, and is counted in `salvaged`.
 */
export async function salvage(
  file: string,
  restored: Restored,
  data: DataDirectory,
  salvaged: Salvaged,
  told: (events: number) => void,
  failed: (why: string) => void,
): Promise<boolean> {
  const replaced = ReplacedDatabase.open(file, restored);
  if (replaced === undefined) return false;
  try {
    const store = await Store.openExisting(data, unattended(data, failed));
    try {
      await storeAll(replaced, store, salvaged, told);
    } finally {
      await store.close();
    }
  } finally {
    replaced.close();
  }
  return true;
}

async function storeAll(
  from: ReplacedDatabase,
  store: Store,
  salvaged: Salvaged,
  told: (events: number) => void,
): Promise<void> {
  let undecodable = 0;
  for (const arrivals of from.arrivals()) {
    const events = arrivals.flatMap(decoded);
    salvaged.events += events.length;
    undecodable += arrivals.length - events.length;
    salvaged.unreadable = from.unreadable + undecodable;
    const { accepted, duplicates, conflicts } = await append(store, events);
    salvaged.accepted += accepted;
    salvaged.duplicates += duplicates;
    salvaged.conflicts += conflicts;
    told(salvaged.events);
    await setImmediate();
  }
  salvaged.unreadable = from.unreadable + undecodable;
}

/** Checked as if it were sent now: a page may be readable, and what is in it no event any more. */
function decoded(arrival: Arrival): CourtEvent[] {
  try {
    return decodeBatch(Buffer.from(eventToJson(arrival)));
  } catch {
    return [];
  }
}

async function append(store: Store, events: readonly CourtEvent[]) {
  for (const giveUpAt = performance.now() + COMMAND_BUSY_MS; ; await sleep(BUSY_GIVE_UP_MS)) {
    try {
      return await store.append(events);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const mayPass = error.code === 'storage_busy' || error.code === 'overloaded';
      if (mayPass && performance.now() < giveUpAt) continue;
      const why = error.code === 'storage_full' ? 'the disk is full' : error.message;
      throw new OperatorError(`Not everything was salvaged: ${why}.`);
    }
  }
}

/**
 * Once the disk has failed the process ends, and the database is not closed, because what it would still write cannot be trusted
 * (ARCHITECTURE.md#a-failed-fsync-is-final).
 */
function unattended(directory: DataDirectory, failed: (why: string) => void): StoreEvents {
  const fatal = (error: unknown) => {
    const reason = explain(error, directory);
    failed(reason instanceof Error ? reason.message : String(reason));
    process.exit(1);
  };
  return { ...UNLOGGED, fatal };
}
