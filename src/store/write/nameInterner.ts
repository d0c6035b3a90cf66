import type { Database, Statement } from 'better-sqlite3';
import { NAMES_CACHED } from '../../base/limits.ts';
import { type OriginNames, originChecksum } from '../db/checksum.ts';

/** An interned origin, with the checksum of its names (checksum.ts). */
interface InternedOrigin {
  readonly id: number;
  readonly checksum: number;
}

/**
 * Maps session ids and origins (venue, court, source, type, schema version) to integer ids, and inserts
 * missing ones. Call the look-ups inside a transaction that holds the write lock, and `forget` if it was rolled back or names were
 * deleted (../keep/pruneEvents.ts): nobody else deletes any.
 */
export class NameInterner {
  readonly #sessions = new Map<string, number>();
  readonly #origins = new Map<string, InternedOrigin>();
  readonly #findSession: Statement<[string], number>;
  readonly #addSession: Statement<[string]>;
  readonly #findOrigin: Statement<string[], number>;
  readonly #addOrigin: Statement<string[]>;

  constructor(db: Database) {
    this.#findSession = db.prepare<[string], number>('SELECT id FROM session WHERE name = ?').pluck();
    this.#addSession = db.prepare('INSERT INTO session (name) VALUES (?)');
    const columns = ['venue', 'court', 'source', 'type', 'schema_version'];
    const matches = columns.map((column) => `${column} = ?`).join(' AND ');
    this.#findOrigin = db.prepare<string[], number>(`SELECT id FROM origin WHERE ${matches}`).pluck();
    this.#addOrigin = db.prepare(`INSERT INTO origin (${columns}) VALUES (?, ?, ?, ?, ?)`);
  }

  /** @returns the id of a session, which is inserted where it is new. */
  sessionId(name: string): number {
    const known = this.#sessions.get(name);
    if (known !== undefined) return known;
    const id = this.#findSession.get(name) ?? Number(this.#addSession.run(name).lastInsertRowid);
    return remember(this.#sessions, name, id);
  }

  /** @returns the origin of an event, which is inserted where it is new. */
  origin(event: OriginNames): InternedOrigin {
    const { venueId, courtId, source, type, schemaVersion } = event;
    // Names contain no control characters, so the cache key is unambiguous.
    const cacheKey = `${venueId}\n${courtId}\n${source}\n${type}\n${schemaVersion}`;
    const known = this.#origins.get(cacheKey);
    if (known !== undefined) return known;
    const names = [venueId, courtId, source, type, schemaVersion];
    const id = this.#findOrigin.get(...names) ?? Number(this.#addOrigin.run(...names).lastInsertRowid);
    return remember(this.#origins, cacheKey, { id, checksum: originChecksum(event) });
  }

  /** Forgets all ids: some do not exist any more. */
  forget(): void {
    this.#sessions.clear();
    this.#origins.clear();
  }
}

/** Clears everything rather than evicting the oldest: a venue has far fewer names than the limit. */
function remember<Interned>(cache: Map<string, Interned>, name: string, interned: Interned): Interned {
  if (cache.size >= NAMES_CACHED) cache.clear();
  // A part of a body keeps all of it in memory.
  cache.set(Buffer.from(name).toString(), interned);
  return interned;
}
