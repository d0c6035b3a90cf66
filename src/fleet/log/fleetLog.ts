/**
 * Where the log of a fleet is at headquarters. With chunk.ts it is a contract between boxes and readers there: names and
 * meaning stay.
 */

export const STREAM = 'FLEET';
/** The bucket `court-status`. */
export const STATUS_STREAM = 'KV_court-status';
/** Bytes of a message at most: the largest event that a box accepts, and its headers. */
export const MESSAGE_BYTES = 9 * 1024 ** 2;

/** `*` is every box, or every epoch. */
export function subjectOf(box: string, epoch: string): string {
  return `court.v1.${box}.${epoch}`;
}

export function statusSubjectOf(box: string): string {
  return `$KV.court-status.${box}`;
}

/** @returns whose chunk it is. */
export function sourceOf(subject: string): { box: string; epoch: string } {
  const [, , box = '', epoch = ''] = subject.split('.');
  return { box, epoch };
}
