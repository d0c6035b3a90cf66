import type { Database, Statement } from 'better-sqlite3';
import { NAMES_CACHED, NAMES_CACHED_CHARS } from '../../base/limits.ts';
import type { CourtEvent } from '../../protocol/event.ts';

/** Ids of interned names, in memory. What a transaction adds counts only once it has been committed. */
class InternCache {
  readonly #committed = new Map<string, number>();
  readonly #pending = new Map<string, number>();
  /** UTF-16 units of the committed ones. */
  #chars = 0;

  get(name: string): number | undefined {
    return this.#committed.get(name) ?? this.#pending.get(name);
  }

  add(name: string, id: number): number {
    this.#pending.set(name, id);
    return id;
  }

  /** Forgets everything rather than the oldest: a venue has far fewer names than the limits. */
  committed(): void {
    for (const [name, id] of this.#pending) {
      if (this.#committed.size >= NAMES_CACHED || this.#chars >= NAMES_CACHED_CHARS) this.forget();
      this.#committed.set(name, id);
      this.#chars += name.length;
    }
    this.#pending.clear();
  }

  /** Forgets what was committed. */
  forget(): void {
    this.#committed.clear();
    this.#chars = 0;
  }

  rolledBack(): void {
    this.#pending.clear();
  }
}

type OriginNames = Pick<CourtEvent, 'venueId' | 'courtId' | 'source' | 'type' | 'schemaVersion'>;

/**
 * Sessions and origins as integers (design 5). Call `begin` and the rest inside a transaction that holds the write lock, then
 * `committed` or `rolledBack`.
 *
 * Another process may prune names that no event uses (unusedNames.ts). So what is remembered counts only as long as no
 * other connection has committed: SQLite counts that in `data_version`, and inside the transaction no other one can.
 */
export class NameInterner {
  readonly #version: Statement<[], number>;
  #seenVersion = -1;
  readonly #sessions = new InternCache();
  readonly #origins = new InternCache();
  readonly #findSession: Statement<[string], number>;
  readonly #addSession: Statement<[string]>;
  readonly #findOrigin: Statement<string[], number>;
  readonly #addOrigin: Statement<string[]>;

  constructor(db: Database) {
    this.#version = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#findSession = db.prepare<[string], number>('SELECT id FROM session WHERE name = ?').pluck();
    this.#addSession = db.prepare('INSERT INTO session (name) VALUES (?)');
    const columns = ['venue', 'court', 'source', 'type', 'schema_version'];
    const matches = columns.map((column) => `${column} = ?`).join(' AND ');
    this.#findOrigin = db.prepare<string[], number>(`SELECT id FROM origin WHERE ${matches}`).pluck();
    this.#addOrigin = db.prepare(`INSERT INTO origin (${columns}) VALUES (?, ?, ?, ?, ?)`);
  }

  begin(): void {
    const version = this.#version.get() ?? -1;
    if (version === this.#seenVersion) return;
    this.#seenVersion = version;
    this.#sessions.forget();
    this.#origins.forget();
  }

  sessionId(name: string): number {
    const known = this.#sessions.get(name);
    if (known !== undefined) return known;
    const id = this.#findSession.get(name) ?? Number(this.#addSession.run(name).lastInsertRowid);
    return this.#sessions.add(name, id);
  }

  originId(event: OriginNames): number {
    const { venueId, courtId, source, type, schemaVersion } = event;
    // Names hold no control characters, so the cacheKey name is unambiguous.
    const cacheKey = `${venueId}\n${courtId}\n${source}\n${type}\n${schemaVersion}`;
    const known = this.#origins.get(cacheKey);
    if (known !== undefined) return known;
    const names = [venueId, courtId, source, type, schemaVersion];
    const id = this.#findOrigin.get(...names) ?? Number(this.#addOrigin.run(...names).lastInsertRowid);
    return this.#origins.add(cacheKey, id);
  }

  committed(): void {
    this.#sessions.committed();
    this.#origins.committed();
  }

  rolledBack(): void {
    this.#sessions.rolledBack();
    this.#origins.rolledBack();
  }
}
