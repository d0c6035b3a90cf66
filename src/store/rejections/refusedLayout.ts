import type { Database } from 'better-sqlite3';
import type { RefusedBody, WaitingEvents } from './refusedBody.ts';

/**
 * A file of its own, so that neither the database nor a backup grows by it. Whatever is written lies beside what was written before:
 * an index over hashes would dirty a page for each event (../../ARCHITECTURE.md#duplicates).
 */
export const LAYOUT = `
  CREATE TABLE body (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order of receipt
    request_id  TEXT    NOT NULL,
    received_ms INTEGER NOT NULL,
    code        TEXT    NOT NULL,
    sender      TEXT    NOT NULL,
    events      INTEGER NOT NULL,                   -- 1 where it cannot be parted into events
    sha256      BLOB    NOT NULL,                   -- of the body, decompressed
    bytes       INTEGER NOT NULL                    -- that it takes here
  ) STRICT;
  CREATE INDEX body_sender ON body (sender, id);
  CREATE TABLE content (
    body INTEGER PRIMARY KEY,
    gzip BLOB NOT NULL
  ) STRICT;
  CREATE TABLE done (                               -- events that wait no longer
    body     INTEGER NOT NULL,
    idx      INTEGER NOT NULL,                      -- the place in the body, from 0 on
    moved_to INTEGER,                               -- NULL: imported or stored; else the body in which it came again
    PRIMARY KEY (body, idx)
  ) STRICT, WITHOUT ROWID;
`;
export const VERSION = 1;
/** "crtr" in ASCII. */
export const APPLICATION_ID = 0x63727472;
/** SQLite's default. */
export const PAGE_BYTES = 4_096;

/** Every statement that works on it. */
export function prepareStatements(db: Database) {
  const value = <Params extends unknown[], Value>(sql: string) => db.prepare<Params, Value>(sql).pluck();
  const waits = 'events > (SELECT count(*) FROM done WHERE body = id)';
  return {
    sha256: value<[number], Buffer>('SELECT sha256 FROM body WHERE id = ?'),
    insert: db.prepare<[object]>(`
      INSERT INTO body (request_id, received_ms, code, sender, events, sha256, bytes)
      VALUES (@requestId, @receivedMs, @code, @sender, @events, @sha256, @bytes)`),
    insertContent: db.prepare<[number, Buffer]>('INSERT INTO content VALUES (?, ?)'),
    content: value<[number], Buffer>('SELECT gzip FROM content WHERE body = ?'),
    // Not of a body that has gone meanwhile.
    done: db.prepare<[number, number | null, number]>(
      'INSERT OR IGNORE INTO done SELECT id, ?, ? FROM body WHERE id = ?',
    ),
    isDone: db.prepare<[number, number], { movedTo: number | null }>(
      'SELECT moved_to AS movedTo FROM done WHERE body = ? AND idx = ?',
    ),
    doneIn: value<[number], number>('SELECT idx FROM done WHERE body = ?'),
    bytesOf: db.prepare<[], [string, number]>('SELECT sender, sum(bytes) FROM body GROUP BY sender').raw(),
    oldest: db.prepare<[string], { id: number; bytes: number }>(
      'SELECT id, bytes FROM body WHERE sender = ? ORDER BY id LIMIT 1',
    ),
    newest: db.prepare<[], { id: number; sha256: Buffer }>('SELECT id, sha256 FROM body ORDER BY id DESC'),
    times: db.prepare<[], { id: number; ms: number }>('SELECT id, received_ms AS ms FROM body ORDER BY id'),
    remove: [
      db.prepare<[number]>('DELETE FROM content WHERE body = ?'),
      db.prepare<[number]>('DELETE FROM done WHERE body = ?'),
      db.prepare<[number]>('DELETE FROM body WHERE id = ?'),
    ],
    waiting: db.prepare<[], WaitingEvents>(`
      SELECT sender, sum(events - (SELECT count(*) FROM done WHERE body = id)) AS events, min(received_ms) AS sinceMs
        FROM body WHERE ${waits} GROUP BY sender ORDER BY 2 DESC, 1`),
    waitingIn: value<[number], number>(
      'SELECT events - (SELECT count(*) FROM done WHERE body = id) FROM body WHERE id = ?',
    ),
    last: value<[], number>('SELECT ifnull(max(id), 0) FROM body'),
    next: db.prepare<[object], StoredBody>(`
      SELECT id, request_id AS requestId, received_ms AS receivedMs, code, sender, events, gzip
        FROM body JOIN content ON content.body = id
       WHERE id > @after AND id <= @last AND (@sender IS NULL OR sender = @sender) AND (@code IS NULL OR code = @code)
         AND (@sinceMs IS NULL OR received_ms >= @sinceMs) AND ${waits}
       ORDER BY id LIMIT 1`),
    body: db.prepare<[number], Omit<RefusedBody, 'bytes'> & { gzip: Buffer }>(`
      SELECT request_id AS requestId, received_ms AS receivedMs, code, sender, gzip
        FROM body JOIN content ON content.body = id WHERE id = ?`),
    requests: db.prepare<[], [string, number]>('SELECT request_id, id FROM body').raw(),
  };
}

type StoredBody = Omit<RefusedBody, 'bytes'> & {
  readonly id: number;
  readonly events: number;
  readonly gzip: Buffer;
};
