import pino, { type Logger } from 'pino';
import { visibleLines } from '../base/visibleText.ts';
import type { LogLevel } from './logLevels.ts';
import { LogOutput } from './logOutput.ts';

/** How long writing the last lines may take at exit: on a busy box it may wait for seconds. */
const LOG_FLUSH_MS = 5_000;

export interface Log {
  readonly logger: Logger;
  /** Exits the process once the last lines are written, or after LOG_FLUSH_MS where nobody reads them. */
  exit(status: number): void;
}

/**
 * @returns a logger that writes JSON lines to standard output, without blocking: neither a full disk nor a reader that stops reading
 * may stop courtd, or keep it from ending. pino's own destination tries again for ever, in the thread that serves, when it exits.
 */
export function makeLog(level: LogLevel): Log {
  const output = new LogOutput(1, (lines) => {
    logger.warn({ lines }, 'lines of this log are missing before this one: they could not be written');
  });
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // JSON does not escape C1 controls and bidirectional marks; journalctl shows a line with control characters as "[blob data]".
      hooks: { streamWrite: visibleLines },
    },
    output,
  );
  const exit = (status: number) => {
    // process.exit waits for a thread that writes, and that thread for a disk or a terminal that hangs.
    const end = () => (output.holdsThread ? process.kill(process.pid, 'SIGKILL') : process.exit(status));
    setTimeout(end, LOG_FLUSH_MS);
    void output.flush().then(() => process.exit(status));
  };
  return { logger, exit };
}
