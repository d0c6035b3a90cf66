import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../protocol/event.ts';
import { NAMES_CACHED } from '../protocol/limits.ts';

/** The names that a camera says with every event (schema.ts). */
export type OriginNames = Pick<CourtEvent, 'type' | 'courtId' | 'venueId' | 'source' | 'schemaVersion'>;

/** The names behind the numbers, for readers: asked for once each. */
export class OriginReader {
  readonly #known = new Map<number, OriginNames>();
  readonly #find: Statement<[number], OriginNames>;

  constructor(db: Database) {
    this.#find = db.prepare(`
      SELECT type, court AS courtId, venue AS venueId, source, schema_version AS schemaVersion
        FROM origin WHERE id = ?`);
  }

  names(id: number): OriginNames {
    return this.#known.get(id) ?? this.#ask(id);
  }

  #ask(id: number): OriginNames {
    const names = this.#find.get(id);
    if (names === undefined) throw new Error(`origin ${id} is missing`);
    if (this.#known.size >= NAMES_CACHED) this.#known.clear();
    this.#known.set(id, names);
    return names;
  }
}
