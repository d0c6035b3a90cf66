import fs from 'node:fs';
import path from 'node:path';
import { CLOCK_MS, EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';

/** What the daemon knows of the box's clock. Milliseconds since 1970-01-01T00:00:00Z, as that clock told them. */
export interface ClockMark {
  /** What it said at the last look. */
  readonly lastMs: number;
  /** Since when it has not jumped; 0: it never has. */
  readonly steadySinceMs: number;
}

/** @returns the mark after another look at the clock. */
export function nextMark(before: ClockMark | undefined, nowMs: number): ClockMark {
  if (before === undefined) return { lastMs: nowMs, steadySinceMs: 0 };
  const hasJumped = Math.abs(nowMs - before.lastMs) > CLOCK_MS.jump;
  return { lastMs: nowMs, steadySinceMs: hasJumped ? nowMs : before.steadySinceMs };
}

/**
 * Whether the clock has jumped so lately that nothing should be deleted by it: more than a day from one hourly mark of the daemon
 * to the next, or from the last one to now, either way, and less than a day ago. A box that was off for a week looks the same:
 * then retention comes a day late, which is the harmless side. After a day the clock is believed: by then somebody has seen the box,
 * and a disk must not fill up for a clock that is never mended.
 */
export function hasJustJumped(mark: ClockMark | undefined, nowMs: number): boolean {
  const { steadySinceMs } = nextMark(mark, nowMs);
  return steadySinceMs > 0 && nowMs - steadySinceMs < CLOCK_MS.jump;
}

/**
 * A file of its own, always of one length and written over in place: it must go on being written on a full disk, where retention
 * is wanted most, and it belongs to the box, not to a database that may be of another (a restore).
 */
function markFile(directory: string): string {
  return path.join(directory, 'courtd.clock');
}

const MARK = /^(\d{15}) (\d{15})\n$/;
const MARK_BYTES = 32;
/** Whatever lies there: a pipe would be waited for, and a link leads elsewhere. */
const { O_RDONLY, O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/** @returns undefined where there is none, or none that can be read. */
export function readMark(directory: string): ClockMark | undefined {
  try {
    const [, last, since] = MARK.exec(firstBytes(markFile(directory))) ?? [];
    return last === undefined ? undefined : { lastMs: Number(last), steadySinceMs: Number(since) };
  } catch {
    return undefined;
  }
}

function firstBytes(file: string): string {
  const fd = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(MARK_BYTES);
    return bytes.toString('latin1', 0, fs.readSync(fd, bytes));
  } finally {
    fs.closeSync(fd);
  }
}

function writeMark(directory: string, { lastMs, steadySinceMs }: ClockMark): void {
  const file = markFile(directory);
  createPrivateIfMissing(file);
  const fd = fs.openSync(file, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    fs.writeSync(fd, `${[lastMs, steadySinceMs].map((ms) => String(ms).padStart(15, '0')).join(' ')}\n`);
  } finally {
    fs.closeSync(fd);
  }
}

/** Marks what the clock says: now, and every hour from now on. @returns what stops that. */
export function markClock(directory: string): () => void {
  const mark = () => {
    const nowMs = Date.now();
    // A clock that was never set: what it says is no time to compare another one with.
    if (nowMs < EARLIEST_RECEIVED_MS) return;
    try {
      writeMark(directory, nextMark(readMark(directory), nowMs));
    } catch {
      // Retention waits for the next one.
    }
  };
  mark();
  const timer = setInterval(mark, CLOCK_MS.mark).unref();
  return () => clearInterval(timer);
}
