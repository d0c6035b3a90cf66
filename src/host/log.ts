import pino, { type Logger } from 'pino';
import { visibleLines } from '../base/visibleText.ts';
import type { LogLevel } from './logLevels.ts';

/** Log lines buffered for a slow reader; what does not fit is dropped. */
const LOG_BUFFER_BYTES = 4 * 1024 ** 2;
/** How long flushing the last lines may take at exit. On a busy box the thread that writes them may wait for seconds. */
const LOG_FLUSH_MS = 5_000;

export interface Log {
  readonly logger: Logger;
  /** Exits the process once the last lines are written, or after LOG_FLUSH_MS where nobody reads them. */
  exit(status: number): void;
}

/**
 * @returns a logger that writes JSON lines to standard output, without blocking: a reader that stops reading must not stop
 * courtd. Lines that do not fit into the buffer are dropped, and so are all lines once the reader is gone.
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
      // JSON does not escape C1 controls and bidirectional marks; journalctl shows a line with control characters as "[blob data]".
      hooks: { streamWrite: visibleLines },
    },
    destination,
  );
  const exit = (status: number) => {
    // process.exit waits for the thread that writes, and that thread waits for the reader.
    const stuck = setTimeout(() => process.kill(process.pid, 'SIGKILL'), LOG_FLUSH_MS);
    logger.flush(() => {
      clearTimeout(stuck);
      process.exit(status);
    });
  };
  return { logger, exit };
}
