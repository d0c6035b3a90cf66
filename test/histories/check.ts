import Database from 'better-sqlite3';
import type { DataDirectory } from '../../src/base/dataDirectory.ts';
import { ArrivalReader } from '../../src/store/read/arrivalReader.ts';
import { keyState } from '../harness/scratchStore.ts';
import { countsAreRight } from '../harness/storedReader.ts';
import { sentOf } from './events.ts';
import type { Model } from './model.ts';

/** Holds a database that has just been opened against the model, on a connection of its own. */
export function check(directory: DataDirectory, model: Model): void {
  const db = new Database(directory.file('database'));
  try {
    const integrity = db.pragma('integrity_check', { simple: true });
    if (integrity !== 'ok') return model.violate(`the database is damaged: ${integrity}`);
    const reader = new ArrivalReader(db);
    const { events, damage } = readAll(reader);
    if (damage > 0) model.violate(`${damage} events are damaged`);
    model.found(events.map((arrival) => ({ sent: sentOf(arrival), arrival })));
    if (!countsAreRight(db)) model.violate('a session has counted wrongly');
    const { unknown } = keyState(db);
    if (unknown > 0) model.violate(`${unknown} events have no key: a resend would be stored again`);
  } finally {
    db.close();
  }
}

function readAll(reader: ArrivalReader) {
  const events = [];
  let damage = 0;
  for (let seq = 0; ; ) {
    const chunk = reader.after(seq, 1000);
    events.push(...chunk.events);
    damage += chunk.damage.events;
    seq = chunk.upTo;
    if (chunk.isLast) return { events, damage };
  }
}
