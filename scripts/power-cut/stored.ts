import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { eventToJson } from '../../src/protocol/event.ts';
import { type EventRow, SELECT_EVENT, toStoredEvent } from '../../src/store/events.ts';
import { databaseFile } from '../../src/store/open.ts';
import { isOrderRight } from '../../src/store/order.ts';
import type { History } from './history.ts';
import { keyOf } from './traffic.ts';

/** What a database holds, compared with what was ever sent. */
export interface Stored {
  /** What `PRAGMA integrity_check` says, and what is seen of the order (src/store/order.ts): "ok". */
  readonly integrity: string;
  readonly keys: ReadonlySet<string>;
  /** Keys of events that are there more than once. */
  readonly twice: readonly string[];
  /** Keys of events that nobody sent like that. */
  readonly changed: readonly string[];
  /** Keys that have moved to the file (src/store/keys.ts). */
  readonly sealed: number;
}

/** Reads databases of one history: what has been compared once is known by its text from then on. */
export class StoredReader {
  readonly #history: History;
  readonly #known = new Map<string, string>();

  constructor(history: History) {
    this.#history = history;
  }

  /** On a connection of its own, while the store has its own. */
  read(data: string): Stored {
    const db = new Database(databaseFile(data), { readonly: true });
    try {
      const pages = db.pragma('integrity_check', { simple: true }) as string;
      const integrity = isOrderRight(db) ? pages : 'the order is wrong';
      const sealed = db.prepare<[], number>('SELECT count(*) FROM key').pluck().get() ?? 0;
      const keys = new Set<string>();
      const [twice, changed]: [string[], string[]] = [[], []];
      for (const row of db.prepare<[], EventRow>(`${SELECT_EVENT} ORDER BY e.seq`).iterate()) {
        const event = toStoredEvent(row);
        const key = keyOf({ session_id: event.sessionId, event_id: event.eventId, revision: event.revision });
        if (keys.has(key)) twice.push(key);
        keys.add(key);
        if (!this.#isAsSent(key, eventToJson(event))) changed.push(key);
      }
      return { integrity, keys, twice, changed, sealed };
    } finally {
      db.close();
    }
  }

  #isAsSent(key: string, text: string): boolean {
    if (this.#known.get(key) === text) return true;
    const sent = this.#history.texts.get(key);
    if (sent === undefined) return false;
    if (!isDeepStrictEqual(JSON.parse(text), { revision: 0, ...JSON.parse(sent) })) return false;
    this.#known.set(key, text);
    return true;
  }
}
