import type { CourtEvent } from '../../src/protocol/event.ts';
import { Appender } from '../../src/store/append.ts';
import { openDatabase } from '../../src/store/open.ts';
import { Store, type StoreEvents } from '../../src/store/store.ts';

/** Requests that wait for a commit together: as many as one commit takes. */
const AT_ONCE = 4;

const fail = (error: unknown) => {
  throw error;
};
const ignore = () => {};
const ON_STORE: StoreEvents = {
  full: fail,
  healed: ignore,
  unexpected: fail,
  fatal: fail,
  walLarge: ignore,
  walSmall: ignore,
  upgrading: ignore,
};

/** Stores events through the store's own modules: millions of them, without HTTP. @returns how many. */
export async function seed(directory: string, requests: Iterable<CourtEvent[]>): Promise<number> {
  const store = await Store.open(directory, ON_STORE);
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
    while (keys.count > 0) keys.sealStep();
  } finally {
    db.close();
  }
}
