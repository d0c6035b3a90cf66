import fs from 'node:fs';
import os from 'node:os';

/**
 * As in nice(1): a tenth of the daemon's share where both want a core. Not the lowest priority, at which a reader on a busy box may
 * not run for seconds: while it is in a read transaction, no restore can begin, and the write-ahead log cannot shrink.
 */
const NICENESS = 10;
const SELF = 0;

/**
 * Lowers the priority of this process below the daemon's, for commands that read for long while cameras send. That cannot hold up a
 * commit: in WAL mode no writer waits for a reader. A process that was started with a higher niceness keeps it.
 */
export function yieldToIngest(): void {
  if (os.getPriority() >= NICENESS) return;
  // On Linux each thread has its own niceness, and V8 has started threads already.
  for (const thread of [SELF, ...threads()]) {
    try {
      os.setPriority(thread, NICENESS);
    } catch {
      // The thread has ended, or a sandbox forbids this: then its priority stays as it is.
    }
  }
}

/** @returns the ids of the threads; none where there is no /proc. */
function threads(): number[] {
  try {
    return fs.readdirSync('/proc/self/task').map(Number);
  } catch {
    return [];
  }
}
