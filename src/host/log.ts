import pino, { type Logger } from 'pino';
import { visibleLines } from '../base/visibleText.ts';
import type { LogLevel } from './logLevels.ts';

/** How long writing the last lines may take at exit: on a busy box it may wait for seconds. */
const LOG_FLUSH_MS = 10_000;
/** Bytes that wait for a slow reader; lines beyond are lost. */
const BUFFER_BYTES = 4 * 1024 ** 2;

const LINES_LOST = 'lines of this log are missing before this one: they could not be written';

export interface Log {
  readonly logger: Logger;
  /** Exits the process once the last lines are written; after LOG_FLUSH_MS if nobody reads them, it is killed. */
  exit(status: number): void;
}

/**
 * @returns a logger that writes JSON lines to standard output, in a thread of Node's: neither a full disk nor a reader that stops
 * reading may stop courtd.
 */
export function makeLog(level: LogLevel): Log {
  // With a minLength of 0, flush would not wait.
  const output = pino.destination({ fd: 1, sync: false, minLength: 1, maxLength: BUFFER_BYTES });
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // JSON does not escape C1 controls and bidirectional marks; journalctl shows a line with control characters as "[blob data]".
      hooks: { streamWrite: visibleLines },
    },
    // Not `output` itself: behind a fatal line pino would write in this thread, and for ever if the disk is full.
    { write: (line: string) => output.write(line) },
  );
  let lost = 0;
  // A failed write is tried again with the next line.
  output.on('error', () => {});
  output.on('drop', () => lost++);
  output.on('drain', () => {
    if (lost > 0) logger.warn({ lines: lost }, LINES_LOST);
    lost = 0;
  });
  const exit = (status: number) => {
    // process.exit would wait for a thread that writes to a disk or a terminal that hangs.
    const timer = setTimeout(() => process.kill(process.pid, 'SIGKILL'), LOG_FLUSH_MS);
    output.flush(() => {
      clearTimeout(timer);
      // pino would write again at exit what could not be written, in this thread.
      output.destroy();
      process.exit(status);
    });
  };
  return { logger, exit };
}
