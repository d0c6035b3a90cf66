import type { Database, Statement } from 'better-sqlite3';
import { NAMES_CACHED } from '../../base/limits.ts';
import { type OriginNames, originChecksum } from './checksum.ts';

/** With their checksum (checksum.ts). */
type Origin = OriginNames & { readonly checksum: number };

/** Reads the names of origins, with a cache. */
export class OriginReader {
  readonly #known = new Map<number, Origin>();
  readonly #find: Statement<[number], OriginNames>;

  constructor(db: Database) {
    this.#find = db.prepare(`
      SELECT type, court AS courtId, venue AS venueId, source, schema_version AS schemaVersion
        FROM origin WHERE id = ?`);
  }

  /** @returns undefined if there is no such origin: the database is damaged. */
  find(id: number): Origin | undefined {
    return this.#known.get(id) ?? this.#ask(id);
  }

  #ask(id: number): Origin | undefined {
    const names = this.#find.get(id);
    if (names === undefined || Object.values(names).some((name) => typeof name !== 'string'))
      return undefined;
    const origin = { ...names, checksum: originChecksum(names) };
    if (this.#known.size >= NAMES_CACHED) this.#known.clear();
    this.#known.set(id, origin);
    return origin;
  }
}
