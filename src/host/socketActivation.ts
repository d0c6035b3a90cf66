import { OperatorError } from '../base/operatorError.ts';

/** A socket that was listening before this process began, and that listens on when it ends. */
export interface InheritedSocket {
  readonly fd: number;
  /** As systemd calls it: the name of its unit, or FileDescriptorName= in it. */
  readonly name: string;
}

/** Where passed descriptors begin (SD_LISTEN_FDS_START). */
const FIRST_FD = 3;
const VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID'] as const;

/**
 * Socket activation as sd_listen_fds(3) says: takes the socket that was passed to this very process. The variables that
 * tell of it are removed, so that no child takes it for its own; the descriptor itself Node closes in every child.
 * @returns undefined where none was passed.
 * @throws {StoreError} where it is more than one.
 */
export function takeSocket(env: NodeJS.ProcessEnv = process.env): InheritedSocket | undefined {
  const { LISTEN_PID, LISTEN_FDS = '', LISTEN_FDNAMES = '' } = env;
  for (const name of VARIABLES) delete env[name];
  if (LISTEN_PID !== String(process.pid)) return undefined;
  const count = /^\d{1,9}$/.test(LISTEN_FDS) ? Number(LISTEN_FDS) : 0;
  if (count > 1) {
    throw new OperatorError(
      `systemd passed ${count} sockets, and courtd takes one: leave one ListenStream= in courtd.socket.`,
    );
  }
  return count === 0 ? undefined : { fd: FIRST_FD, name: LISTEN_FDNAMES || 'unknown' };
}
