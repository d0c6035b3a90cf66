import type { Database } from 'better-sqlite3';
import { isTime } from '../layout/valueFault.ts';
import { damage } from '../sqlite/errors.ts';

/** A refused request, as it is kept. */
export interface Rejection {
  /** Its place in the order in which requests were refused. */
  readonly turn: number;
  /** The request_id, which the client was told too. */
  readonly id: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly atMs: number;
  readonly client: string;
  readonly status: number;
  readonly code: string;
  /** Of its first invalid event, or else of its first event; null where they could not be read. */
  readonly source: string | null;
  readonly courtId: string | null;
  /** How many events it held; null where that could not be read. */
  readonly events: number | null;
  /** What the client was told. */
  readonly error: string;
  /** The first bytes of its body; null where it was not read, or is not kept. */
  readonly body: Buffer | null;
  /** Size of all that was read of the body; null where nothing was. */
  readonly bodyBytes: number | null;
}

/** What has changed since the last write. */
export interface RejectionChanges {
  readonly added: readonly Rejection[];
  /** The turns of stored rejections that were evicted. */
  readonly gone: readonly number[];
}

const COLUMNS = 'turn, id, at_ms, client, status, code, source, court_id, events, error, body, body_bytes';
const SELECT = `
  SELECT turn, id, at_ms AS atMs, client, status, code, source, court_id AS courtId, events, error,
         body, body_bytes AS bodyBytes
    FROM rejection`;

/** @returns what is stored, the oldest first. @throws {SqliteError} */
export function readRejections(db: Database): Rejection[] {
  const all = db.prepare<[], Rejection>(`${SELECT} ORDER BY turn`).all();
  // The next turns are counted from here.
  if (all.some(({ turn, atMs }) => !Number.isSafeInteger(turn) || !isTime(atMs))) throw damage('rejection');
  return all;
}

/** Call it inside a transaction. */
export function writeRejections(db: Database, { added, gone }: RejectionChanges): void {
  const remove = db.prepare<[number]>('DELETE FROM rejection WHERE turn = ?');
  const insert = db.prepare(`INSERT OR REPLACE INTO rejection (${COLUMNS}) VALUES (
    @turn, @id, @atMs, @client, @status, @code, @source, @courtId, @events, @error, @body, @bodyBytes)`);
  for (const turn of gone) remove.run(turn);
  for (const rejection of added) insert.run(rejection);
}
