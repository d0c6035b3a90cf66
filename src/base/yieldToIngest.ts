import fs from 'node:fs';
import os from 'node:os';

/**
 * As in nice(1): a tenth of the daemon's share if both want a core. Not the lowest priority, at which a reader on a busy box may
 * not run for seconds: while it is in a read transaction, no restore can begin, and the write-ahead log cannot shrink.
 */
const NICENESS = 10;

/**
 * Lowers the priority of this process below the daemon's, for commands that read for long while cameras send. That cannot hold up a
 * commit: in WAL mode no writer waits for a reader. A process that was started with a higher niceness keeps it.
 * @param pid another process, which this one has just started: its start takes as long as reading for a tenth of a second.
 */
export function yieldToIngest(pid = process.pid): void {
  // On Linux each thread has its own niceness, and V8 has started threads already.
  for (const thread of threads(pid)) {
    try {
      if (os.getPriority(thread) < NICENESS) os.setPriority(thread, NICENESS);
    } catch {
      // The thread has ended, or a sandbox forbids this: then its priority stays as it is.
    }
  }
}

/** @returns the ids of the threads; the first alone if there is no /proc. */
function threads(pid: number): number[] {
  try {
    return fs.readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}
