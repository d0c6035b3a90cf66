import { getSystemErrorMessage } from 'node:util';

/** An expected failure: its message says what happened and what to do. */
export class OperatorError extends Error {}

/** A fault of the command line or of a setting: the exit status is 2. */
export class UsageError extends OperatorError {}

/** @returns the sentence that says what could not be written, and why. */
export function cannotWrite(what: string, error: NodeJS.ErrnoException): string {
  return `Cannot write to ${what}: ${reasonOf(error)}.`;
}

/** @returns the system's words for its error, such as "permission denied", without the call and the path. */
export function reasonOf({ errno, message }: NodeJS.ErrnoException): string {
  return errno === undefined ? message : getSystemErrorMessage(errno);
}
