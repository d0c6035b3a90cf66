import type Database from 'better-sqlite3';
import type { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { Arrival } from '../../src/protocol/courtEvent.ts';
import { readEpochs } from '../../src/store/db/epochs.ts';
import { failureKind } from '../../src/store/db/sqliteErrors.ts';
import { arrivalsAfter } from '../../src/store/read/arrivals.ts';
import { keyState } from '../harness/scratchStore.ts';
import { countsAreRight } from '../harness/storedReader.ts';
import { sentOf } from './events.ts';
import type { Model } from './model.ts';
import TrackedDatabase from './standIns/sqlite.ts';

/**
 * Holds a database that has just been opened against the model, on a connection of its own.
 * @param isLast looks at pages, counts and keys as well: what is wrong there stays wrong, so it is enough to look at the end.
 */
export function check(directory: DataDirectory, model: Model, isLast = false): void {
  const db = new TrackedDatabase(directory.file('database'));
  try {
    const { events, damage } = readAll(db);
    if (damage > 0) model.violate(`${damage} events are damaged`);
    model.epochsAre(readEpochs(db));
    model.found(events.map((arrival) => ({ sent: sentOf(arrival), arrival })));
    if (!isLast) return;
    const integrity = db.pragma('integrity_check', { simple: true });
    if (integrity !== 'ok') model.violate(`the database is damaged: ${integrity}`);
    if (!countsAreRight(db)) model.violate('a session has counted wrongly');
    const { unknown } = keyState(db);
    if (unknown > 0) model.violate(`${unknown} events have no key: a resend would be stored again`);
  } catch (error) {
    model.violate(`it cannot be read: ${error}`);
  } finally {
    db.close();
  }
}

/** Reads all that is stored, as an export does while the daemon runs. */
export function look(directory: DataDirectory, model: Model): void {
  const events = readStored(directory.file('database'), model, true);
  if (events) model.seen(events.map((arrival) => ({ sent: sentOf(arrival), arrival })));
}

/** @returns the events of a database; undefined if a call that was to fail has been one of these. */
export function readStored(file: string, model: Model, readonly: boolean): Arrival[] | undefined {
  let db: Database.Database | undefined;
  try {
    db = new TrackedDatabase(file, { readonly });
    const { events, damage } = readAll(db);
    if (damage > 0) model.violate(`${damage} events of ${file} are damaged`);
    return events;
  } catch (error) {
    if (!['busy', 'full', 'fatal'].includes(failureKind(error))) throw error;
    return undefined;
  } finally {
    db?.close();
  }
}

function readAll(db: Database.Database) {
  const events: Arrival[] = [];
  let damage = 0;
  for (let seq = 0; ; ) {
    const chunk = arrivalsAfter(db, seq, 1000);
    events.push(...chunk.events);
    damage += chunk.damage.events;
    seq = chunk.upTo;
    if (chunk.isLast) return { events, damage };
  }
}
