import os from 'node:os';

/**
 * As in nice(1): a tenth of the daemon's share if both want a core. Not the lowest priority, at which a reader on a busy box may
 * not run for seconds: while it is in a read transaction, no restore can begin, and the write-ahead log cannot shrink.
 */
const NICENESS = 10;

/**
 * Lowers the priority of the thread that runs this, for commands that read for long while cameras send. A process that was started
 * with a higher niceness keeps it.
 */
export function yieldToIngest(): void {
  try {
    if (os.getPriority() < NICENESS) os.setPriority(NICENESS);
  } catch {
    // A sandbox forbids it.
  }
}
