import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import { type CourtEvent, eventToJson } from '../../src/protocol/courtEvent.ts';
import { keyOf } from './events.ts';
import type { History } from './history.ts';

/** What a database holds, compared with what was ever sent. */
export interface Stored {
  /** What `PRAGMA integrity_check` says, and what is seen of the counts of the sessions: "ok". */
  readonly integrity: string;
  readonly keys: ReadonlySet<string>;
  /** Keys of events that are there more than once. */
  readonly twice: readonly string[];
  /** Keys of events that nobody sent like that. */
  readonly changed: readonly string[];
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
    const db = new Database(path.join(data, 'courtd.db'), { readonly: true });
    try {
      const pages = db.pragma('integrity_check', { simple: true }) as string;
      const integrity = countsAreRight(db) ? pages : 'a session has counted wrongly';
      const keys = new Set<string>();
      const [twice, changed]: [string[], string[]] = [[], []];
      for (const { key, json } of storedEvents(db)) {
        if (keys.has(key)) twice.push(key);
        keys.add(key);
        if (!this.#isAsSent(key, json)) changed.push(key);
      }
      return { integrity, keys, twice, changed };
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

/** @yields the events as SQL shows them, and not as our own code reads a row. */
export function* storedEvents(
  db: Database.Database,
  where = 'true',
): Generator<{ key: string; json: string }> {
  const all = db.prepare<[], Omit<CourtEvent, 'eotNs'>>(`
    SELECT session_id AS sessionId, event_id AS eventId, revision, eot, type, court_id AS courtId, venue_id AS venueId, confidence,
           source, schema_version AS schemaVersion, payload, extra
      FROM events WHERE ${where} ORDER BY seq`);
  for (const event of all.iterate()) {
    const key = keyOf({ session_id: event.sessionId, event_id: event.eventId, revision: event.revision });
    yield { key, json: eventToJson(event) };
  }
}

/** Looks at every event. @returns whether each session knows how many it has, the first and the last, if it claims to (schema.ts). */
export function countsAreRight(db: Database.Database): boolean {
  const wrong = db.prepare<[], number>(`
    WITH own AS (SELECT session, count(*) AS events, min(eot_ns) AS firstNs, max(eot_ns) AS lastNs FROM event GROUP BY session)
    SELECT (SELECT count(*) FROM own LEFT JOIN session_total told ON told.id = own.session
             WHERE told.events IS NOT own.events OR told.first_ns <> own.firstNs OR told.last_ns <> own.lastNs)
         + (SELECT count(*) FROM session_total WHERE events <> 0 AND id NOT IN (SELECT session FROM own))`);
  return wrong.pluck().get() === 0;
}
