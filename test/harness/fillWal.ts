import type { Database } from 'better-sqlite3';

const PAGE_BYTES = 4096;

/** Writes so many frames to the write-ahead log, and a few more, with one commit. */
export function fillWal(db: Database, frames: number): void {
  db.exec('CREATE TABLE IF NOT EXISTS filler (x)');
  db.prepare('INSERT INTO filler VALUES (zeroblob(?))').run(frames * PAGE_BYTES);
}
