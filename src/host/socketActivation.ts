import { OperatorError } from '../base/operatorError.ts';

/** A listening socket that systemd opened before this process started, and that outlives it. */
export interface InheritedSocket {
  readonly fd: number;
  /** The name of its unit, or FileDescriptorName= in it. */
  readonly name: string;
}

/** SD_LISTEN_FDS_START. */
const FIRST_FD = 3;

/**
 * Socket activation, as in sd_listen_fds(3): takes the socket that was passed to this process. Its variables are removed from
 * `env`, so that no child process uses it; Node closes the descriptor itself in every child.
 * @returns undefined if no socket was passed.
 * @throws {OperatorError} if there is more than one.
 */
export function takeSocket(env: NodeJS.ProcessEnv = process.env): InheritedSocket | undefined {
  const { LISTEN_PID, LISTEN_FDS = '', LISTEN_FDNAMES = '' } = env;
  for (const name of Object.keys(env)) if (name.startsWith('LISTEN_')) delete env[name];
  if (LISTEN_PID !== String(process.pid)) return undefined;
  const count = /^\d{1,9}$/.test(LISTEN_FDS) ? Number(LISTEN_FDS) : 0;
  if (count > 1) {
    throw new OperatorError(
      `systemd passed ${count} sockets, and courtd uses one. Keep a single ListenStream= in courtd.socket.`,
    );
  }
  return count === 0 ? undefined : { fd: FIRST_FD, name: LISTEN_FDNAMES || 'unknown' };
}
