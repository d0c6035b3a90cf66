import type { Database, Statement } from 'better-sqlite3';
import { NAMES_CACHED, NAMES_CACHED_CHARS } from '../../base/limits.ts';
import { type OriginNames, originChecksum } from '../layout/checksum.ts';

/** An interned origin, with the checksum of its names (checksum.ts). */
interface InternedOrigin {
  readonly id: number;
  readonly checksum: number;
}

/** A cache of what names are interned as. */
class InternCache<Interned> {
  readonly #ids = new Map<string, Interned>();
  /** UTF-16 code units of the names. */
  #chars = 0;

  get(name: string): Interned | undefined {
    return this.#ids.get(name);
  }

  /** Clears everything rather than evicting the oldest: a venue has far fewer names than the limits. */
  add(name: string, id: Interned): Interned {
    if (this.#ids.size >= NAMES_CACHED || this.#chars >= NAMES_CACHED_CHARS) this.forget();
    this.#ids.set(name, id);
    this.#chars += name.length;
    return id;
  }

  forget(): void {
    this.#ids.clear();
    this.#chars = 0;
  }
}

/**
 * Maps session ids and origins (venue, court, source, type, schema version) to integer ids, and inserts
 * missing ones. Call the look-ups inside a transaction that holds the write lock, then `committed` or
 * `rolledBack`; and `forget` if names were deleted (unusedNames.ts): nothing else deletes any.
 */
export class NameInterner {
  readonly #sessions = new InternCache<number>();
  readonly #origins = new InternCache<InternedOrigin>();
  /** The origin of the event before, in the same transaction: most batches come from one camera. */
  #lastOrigin: { readonly names: OriginNames; readonly origin: InternedOrigin } | undefined;
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

  /** @returns the id of a session, which is inserted if it is new. */
  sessionId(name: string): number {
    const known = this.#sessions.get(name);
    if (known !== undefined) return known;
    const id = this.#findSession.get(name) ?? Number(this.#addSession.run(name).lastInsertRowid);
    return this.#sessions.add(name, id);
  }

  /** @returns the origin of an event, which is inserted if it is new. */
  origin(event: OriginNames): InternedOrigin {
    const last = this.#lastOrigin;
    if (last !== undefined && isSameOrigin(last.names, event)) return last.origin;
    const origin = this.#findOrAddOrigin(event);
    this.#lastOrigin = { names: event, origin };
    return origin;
  }

  #findOrAddOrigin(event: OriginNames): InternedOrigin {
    const { venueId, courtId, source, type, schemaVersion } = event;
    // Names contain no control characters, so the cache key is unambiguous.
    const cacheKey = `${venueId}\n${courtId}\n${source}\n${type}\n${schemaVersion}`;
    const known = this.#origins.get(cacheKey);
    if (known !== undefined) return known;
    const names = [venueId, courtId, source, type, schemaVersion];
    const id = this.#findOrigin.get(...names) ?? Number(this.#addOrigin.run(...names).lastInsertRowid);
    return this.#origins.add(cacheKey, { id, checksum: originChecksum(event) });
  }

  /** Call it after the transaction has been committed. */
  committed(): void {
    this.#lastOrigin = undefined;
  }

  /** Forgets all ids: those since the last commit do not exist. */
  rolledBack(): void {
    this.forget();
  }

  /** Forgets all ids. */
  forget(): void {
    this.#lastOrigin = undefined;
    this.#sessions.forget();
    this.#origins.forget();
  }
}

function isSameOrigin(a: OriginNames, b: OriginNames): boolean {
  return (
    a.type === b.type &&
    a.source === b.source &&
    a.courtId === b.courtId &&
    a.venueId === b.venueId &&
    a.schemaVersion === b.schemaVersion
  );
}
