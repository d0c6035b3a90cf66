import { OperatorError } from '../base/operatorError.ts';

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another program uses it ("sudo ss -ltnp" prints which). Stop that program, or choose another port with --port.',
  EACCES: 'this user is not allowed to. Choose a port from 1024 up with --port.',
  EADDRNOTAVAIL: 'this machine does not have that address. Choose another with --host.',
  ENOTFOUND: 'that is not an address. Choose another with --host.',
};

/** @returns why listening failed, for the operator; undefined if the reason is not the address. */
export function listenFailure(error: unknown, host: string, port: number): OperatorError | undefined {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ''];
  return reason === undefined
    ? undefined
    : new OperatorError(`Cannot listen on ${host} port ${port}: ${reason}`);
}
