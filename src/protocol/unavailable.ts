import { RETRY_AFTER_S } from '../base/limits.ts';
import { type Problem, type ProblemCode, retryLater } from './errors.ts';

/** Why the store takes no events now: the code of the problem, its first sentence, and Retry-After in seconds. */
const REASONS = {
  busy: ['storage_busy', 'The store is locked by another program.', RETRY_AFTER_S.busy],
  full: ['storage_full', 'The disk is full.', RETRY_AFTER_S.full],
  failed: ['storage_failed', 'The store failed and is being restarted.', RETRY_AFTER_S.full],
  damaged: [
    'storage_failed',
    'Part of the store that this request needs is damaged: tell the operator.',
    RETRY_AFTER_S.full,
  ],
  walHeld: ['storage_busy', 'Another program has been reading the store for too long.', RETRY_AFTER_S.full],
  behind: ['storage_busy', 'The store has fallen behind.', RETRY_AFTER_S.full],
  overloaded: ['overloaded', 'Too many requests are waiting.', RETRY_AFTER_S.overloaded],
  shuttingDown: ['shutting_down', 'This box is restarting.', RETRY_AFTER_S.shutdown],
} as const satisfies Record<string, readonly [ProblemCode, string, number]>;

export type Unavailability = keyof typeof REASONS;

/** @returns the problem to answer with: 503, with Retry-After. */
export function unavailable(reason: Unavailability): Problem {
  const [code, sentence, seconds] = REASONS[reason];
  // After a failure the events may have been stored or not. Sending them again is safe: ingestion is idempotent.
  const rest =
    reason === 'failed' ? 'Send the same request again.' : 'Nothing was stored; send the same request again.';
  return retryLater(code, `${sentence} ${rest}`, seconds);
}
