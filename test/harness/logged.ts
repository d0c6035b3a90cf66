import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Daemon, LogLine } from './daemon.ts';

/** @returns the first line of the daemon's log with this message, as soon as it is there. */
export async function logged(daemon: Daemon, message: string | RegExp): Promise<LogLine> {
  for (;;) {
    const line = daemon.log.find(({ msg }) =>
      typeof message === 'string' ? msg === message : message.test(msg),
    );
    if (line !== undefined) return line;
    const { exitCode, signalCode, stdout } = daemon.child;
    if ((exitCode ?? signalCode) !== null && !stdout.readable) throw new Error(`never logged: ${message}`);
    await Promise.race([once(stdout, 'data'), daemon.exited]);
    await nextTurn();
  }
}

/** @returns how often the message is in the daemon's log. */
export function timesLogged(daemon: Daemon, message: string): number {
  return daemon.log.filter(({ msg }) => msg === message).length;
}
