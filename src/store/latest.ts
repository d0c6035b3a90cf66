import type { Database } from 'better-sqlite3';
import { READ_CHUNK_ROWS } from '../protocol/limits.ts';

/**
 * Notes the highest revision of each event of a session that has more than revision 0, for a reader: in the temporary
 * table `latest`, on disk, not in memory. First in the order of arrival, a chunk at a time; then sorted, when nothing of
 * the database is held any more: putting random ids in their places a chunk at a time took three times as long.
 * @param db a connection of its own.
 * @returns the highest revision of all.
 */
export function noteLatest(db: Database, session: number, lastSeq: number): number {
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
  return db.prepare<[], number>('SELECT coalesce(max(revision), 0) FROM temp.latest').pluck().get() ?? 0;
}
