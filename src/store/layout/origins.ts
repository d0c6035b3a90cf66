import type { Database, Statement } from 'better-sqlite3';
import { NAMES_CACHED, NAMES_CACHED_CHARS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import type { CourtEvent } from '../../protocol/event.ts';

/** The names that a camera repeats in every event (schema.ts). */
export type OriginNames = Pick<CourtEvent, 'type' | 'courtId' | 'venueId' | 'source' | 'schemaVersion'>;

/** Reads the names of origins, with a cache. */
export class OriginReader {
  readonly #known = new Map<number, OriginNames>();
  /** UTF-16 code units in the cache. */
  #chars = 0;
  readonly #find: Statement<[number], OriginNames>;

  constructor(db: Database) {
    this.#find = db.prepare(`
      SELECT type, court AS courtId, venue AS venueId, source, schema_version AS schemaVersion
        FROM origin WHERE id = ?`);
  }

  /** @throws {OperatorError} where there is no such origin. */
  names(id: number): OriginNames {
    return this.#known.get(id) ?? this.#ask(id);
  }

  #ask(id: number): OriginNames {
    const names = this.#find.get(id);
    if (names === undefined) throw namesMissing();
    if (this.#known.size >= NAMES_CACHED || this.#chars >= NAMES_CACHED_CHARS) {
      this.#known.clear();
      this.#chars = 0;
    }
    this.#known.set(id, names);
    this.#chars += names.courtId.length + names.venueId.length + names.source.length;
    return names;
  }
}

/** @returns the error for an event whose row of names is missing. */
export function namesMissing(): OperatorError {
  return new OperatorError(
    'The database is damaged: the venue, court, source and type of some events are missing. Make a copy of it, then restore a backup.',
  );
}
