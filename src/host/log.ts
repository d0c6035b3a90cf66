import pino, { type Logger } from 'pino';
import { visibleLines } from '../base/visibleText.ts';
import type { LogLevel } from './logLevels.ts';

/** Lines of the log that wait for a slow reader; what does not fit is dropped. */
const LOG_BUFFER_BYTES = 4 * 1024 ** 2;
/** How long the last lines have at the end. */
const LOG_FLUSH_MS = 1_000;

export interface Log {
  readonly logger: Logger;
  /** Ends the process once the last lines are written, or after LOG_FLUSH_MS where nobody reads them. */
  exit(status: number): void;
}

/**
 * JSON lines on standard output. Written by another thread: a reader that has stopped reading must not stop courtd.
 * What it does not take in time is dropped, and so are lines after it has gone.
 */
export function makeLog(level: LogLevel): Log {
  const destination = pino.destination({ dest: 1, sync: false, minLength: 1, maxLength: LOG_BUFFER_BYTES });
  destination.on('error', () => {});
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // JSON leaves C1 and bidirectional marks as they are, and journalctl shows a line with control characters as "[blob data]".
      hooks: { streamWrite: visibleLines },
    },
    destination,
  );
  const exit = (status: number) => {
    // An ordinary exit waits for the thread that writes, and that waits for the reader.
    const stuck = setTimeout(() => process.kill(process.pid, 'SIGKILL'), LOG_FLUSH_MS);
    logger.flush(() => {
      clearTimeout(stuck);
      process.exit(status);
    });
  };
  return { logger, exit };
}
