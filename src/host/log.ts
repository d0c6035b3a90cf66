import pino, { type Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** JSON lines on standard output, written at once: what was logged before a crash is there. */
export function makeLog(level: LogLevel): Logger {
  const destination = pino.destination({ dest: 1, sync: true });
  // Whoever read the log has gone: courtd does not go with it.
  destination.on('error', () => {});
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}
