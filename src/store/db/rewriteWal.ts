import fs from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { fsync } from '../../base/atomicFile.ts';
import { openCarefully } from '../../base/privateFile.ts';
import { checkpoint } from './checkpointer.ts';

/** Bytes before the first frame of a WAL, and before the page of each (SQLite, "WAL-mode File Format", 2.1). */
const [HEADER_BYTES, FRAME_HEADER_BYTES] = [32, 24];
const PIECE_BYTES = 1024 ** 2;

/**
 * Makes durable what a connection finds in the WAL of a process that is gone (../../ARCHITECTURE.md#recovery-barrier): writes it over
 * itself, and syncs it. A sync alone is not enough: after one that has failed the kernel takes what was written for clean, so that no
 * later one writes it, and continues to show it. Call it before anything that may checkpoint; closing the last connection does.
 * @throws {SqliteError}: busy, if another program writes. Node's error, if the disk fails.
 */
export function rewriteWal(db: Database): void {
  // The first read opens the WAL.
  db.pragma('user_version');
  const { frames } = checkpoint(db, 'NOOP');
  if (frames <= 0) return;
  const bytes =
    HEADER_BYTES + frames * (FRAME_HEADER_BYTES + (db.pragma('page_size', { simple: true }) as number));
  // Nobody may write meanwhile: a frame that changes after it was read would be lost.
  const rewrite = db.transaction(() => {
    // Closing a descriptor of the WAL is safe: SQLite's locks are on the other two files.
    const fd = openCarefully(`${db.name}-wal`, fs.constants.O_RDWR);
    try {
      overwrite(fd, bytes);
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  });
  rewrite.immediate();
  fsync(path.dirname(db.name));
}

function overwrite(fd: number, bytes: number): void {
  const piece = Buffer.allocUnsafe(Math.min(bytes, PIECE_BYTES));
  for (let at = 0; at < bytes; ) {
    const read = fs.readSync(fd, piece, 0, Math.min(piece.length, bytes - at), at);
    // It has been truncated, and so checkpointed before.
    if (read === 0) return;
    at += fs.writeSync(fd, piece, 0, read, at);
  }
}
