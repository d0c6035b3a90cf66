import fs from 'node:fs';
import os from 'node:os';

/**
 * As of nice(1): a tenth of what the daemon gets where both want a core. Not the lowest priority, at which a reader on a busy box may
 * be stopped for seconds between two instructions: while it reads, no restore can begin, and the write-ahead log cannot shrink.
 */
const NICENESS = 10;
const SELF = 0;

/**
 * Makes this process less urgent than the daemon, for commands that read for long while cameras send. It cannot hold up a commit:
 * in WAL mode no writer waits for a reader. Whoever was started with a higher niceness keeps it.
 */
export function yieldToIngest(): void {
  if (os.getPriority() >= NICENESS) return;
  // Linux counts it by thread, and V8 has started its own.
  for (const thread of [SELF, ...threads()]) {
    try {
      os.setPriority(thread, NICENESS);
    } catch {
      // It has ended meanwhile, or a sandbox forbids this: then it stays as urgent as it is.
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
