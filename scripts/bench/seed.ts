import { DataDirectory } from '../../src/base/dataDirectory.ts';
import type { CourtEvent } from '../../src/protocol/event.ts';
import { openDatabase } from '../../src/store/open/openDatabase.ts';
import { Store } from '../../src/store/store.ts';
import { Appender } from '../../src/store/write/appender.ts';
import { UNWATCHED } from './unwatchedStore.ts';

/** Requests in flight at a time: as many as share one commit. */
const AT_ONCE = 4;

/** Stores events through the store itself, without HTTP, because there are millions. @returns how many were stored. */
export async function seed(directory: string, requests: Iterable<CourtEvent[]>): Promise<number> {
  const store = await Store.open(new DataDirectory(directory), UNWATCHED);
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

/** Flushes all keys from memory to the file, as courtd does over time, so that the file reaches its final size. */
export function sealAll(directory: string): void {
  const db = openDatabase(new DataDirectory(directory));
  try {
    const { keys } = new Appender(db);
    while (keys.count > 0) keys.flushStep();
  } finally {
    db.close();
  }
}
