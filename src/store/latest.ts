import type { Database, Statement } from 'better-sqlite3';
import { FILTER_BITS, READ_CHUNK_ROWS } from '../protocol/limits.ts';
import { BitFilter } from './bitFilter.ts';

interface Revision {
  readonly eventId: string;
  readonly revision: number;
  current: boolean;
}

/**
 * The highest revision of each event of a session that has more than revision 0, for a reader: in a temporary table, on
 * disk, not in memory. Looking up each of a million random ids there took a quarter of an export, so the table is only
 * asked where two cheaper questions leave it open. A filter of bits tells of events that were never revised. And a
 * correction mostly has the eot of what it corrects, so that both come in one chunk.
 */
export class LatestRevisions {
  readonly #find: Statement<[string], number>;
  readonly #filter: BitFilter;
  /** The highest of all events. */
  readonly #top: number;

  /** @param db a connection of its own: temporary tables are made in it. */
  constructor(db: Database, session: number, lastSeq: number) {
    noteLatest(db, session, lastSeq);
    const totals = db.prepare<[], { count: number; top: number | null }>(
      'SELECT count(*) AS count, max(revision) AS top FROM temp.latest',
    );
    const { count, top } = totals.get() ?? { count: 0, top: 0 };
    this.#top = top ?? 0;
    const bits = Math.min(Math.max(count * FILTER_BITS.perId, FILTER_BITS.least), FILTER_BITS.most);
    this.#filter = new BitFilter(bits);
    const ids = db.prepare<[], string>('SELECT event_id FROM temp.latest').pluck();
    for (const id of ids.iterate()) this.#filter.add(hashOf(id));
    this.#find = db.prepare<[string], number>('SELECT revision FROM temp.latest WHERE event_id = ?').pluck();
  }

  /** Sets `current` of each of some events of the session: whether it is its highest revision. */
  mark(events: readonly Revision[]): void {
    const highestHere = new Map<string, number>();
    for (const { eventId, revision } of events) {
      if (revision > 0 && revision > (highestHere.get(eventId) ?? 0)) highestHere.set(eventId, revision);
    }
    for (const event of events) {
      const { eventId, revision } = event;
      if (revision === this.#top || !this.#filter.mayHold(hashOf(eventId))) event.current = true;
      else if ((highestHere.get(eventId) ?? 0) > revision) event.current = false;
      else event.current = revision >= (this.#find.get(eventId) ?? 0);
    }
  }
}

/**
 * First in the order of arrival, a chunk at a time; then sorted, when nothing of the database is held any more: putting
 * random ids in their places a chunk at a time took three times as long.
 */
function noteLatest(db: Database, session: number, lastSeq: number): void {
  db.exec(`
    DROP TABLE IF EXISTS temp.latest;
    DROP TABLE IF EXISTS temp.revised;
    CREATE TEMP TABLE latest (event_id TEXT PRIMARY KEY, revision INTEGER) WITHOUT ROWID;
    CREATE TEMP TABLE revised (event_id TEXT, revision INTEGER);
  `);
  const endOfChunk = db
    .prepare<[number, number, number], number | null>(`
      SELECT max(seq) FROM (SELECT seq FROM event INDEXED BY event_revised
       WHERE session = ? AND revision > 0 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ${READ_CHUNK_ROWS})`)
    .pluck();
  const note = db.prepare(`
    INSERT INTO temp.revised SELECT event_id, revision FROM event INDEXED BY event_revised
     WHERE session = ? AND revision > 0 AND seq > ? AND seq <= ?`);
  for (let after = 0; ; ) {
    const end = endOfChunk.get(session, after, lastSeq);
    if (end === undefined || end === null) break;
    note.run(session, after, end);
    after = end;
  }
  db.exec(`
    INSERT INTO temp.latest SELECT event_id, max(revision) FROM temp.revised GROUP BY event_id ORDER BY event_id;
    DROP TABLE temp.revised;
  `);
}

/** FNV-1a over UTF-16 units, its upper bits mixed into the lower. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
