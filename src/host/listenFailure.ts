import { OperatorError } from '../base/operatorError.ts';
import { portHolder } from './portHolder.ts';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user is not allowed to. Choose a port from 1024 up with --port.',
  EADDRNOTAVAIL: 'this machine does not have that address. Choose another with --host.',
  ENOTFOUND: 'that is not an address. Choose another with --host.',
};

/** @returns why listening failed, for the operator; undefined where the reason is not the address. */
export function listenFailure(error: unknown, host: string, port: number): OperatorError | undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = code === 'EADDRINUSE' ? inUse(port) : REASONS[code];
  return reason === undefined
    ? undefined
    : new OperatorError(`Cannot listen on ${host} port ${port}: ${reason}`);
}

function inUse(port: number): string {
  const holder = portHolder(port);
  const who = holder === undefined ? ' ("sudo ss -ltnp" says which)' : `: ${holder}`;
  return `another program is using it${who}. Stop that program, or choose another port with --port.`;
}
