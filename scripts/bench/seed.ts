import type { CourtEvent } from '../../src/protocol/event.ts';
import { openDatabase } from '../../src/store/open/openDatabase.ts';
import { Store } from '../../src/store/store.ts';
import { Appender } from '../../src/store/write/appendEvents.ts';
import { UNWATCHED } from './unwatchedStore.ts';

/** Requests that wait for a commit together: as many as one commit takes. */
const AT_ONCE = 4;

/** Stores events through the store's own modules: millions of them, without HTTP. @returns how many. */
export async function seed(directory: string, requests: Iterable<CourtEvent[]>): Promise<number> {
  const store = await Store.open(directory, UNWATCHED);
  let stored = 0;
  let waiting: Promise<{ accepted: number }>[] = [];
  const settle = async () => {
    for (const { accepted } of await Promise.all(waiting)) stored += accepted;
    waiting = [];
  };
  for (const events of requests) {
    waiting.push(store.append(events));
    if (waiting.length === AT_ONCE) await settle();
  }
  await settle();
  await store.close();
  return stored;
}

/** Moves what keys are in memory to the file, as courtd does by and by: so large the file becomes in the end. */
export function sealAll(directory: string): void {
  const db = openDatabase(directory);
  try {
    const { keys } = new Appender(db);
    while (keys.count > 0) keys.flushStep();
  } finally {
    db.close();
  }
}
