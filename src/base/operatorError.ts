import { getSystemErrorMessage } from 'node:util';

/** A failure that was foreseen, for the operator: its message says what happened and what to do. */
export class OperatorError extends Error {}

/** @returns the beginning of a sentence: what the system refused, and why. */
export function cannotWrite(what: string, { errno, message }: NodeJS.ErrnoException): string {
  const reason = errno === undefined ? message : getSystemErrorMessage(errno);
  return `Cannot write to ${what}: ${reason}.`;
}
