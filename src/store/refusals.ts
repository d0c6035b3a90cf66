import { RETRY_AFTER_S } from '../protocol/limits.ts';
import { type Problem, retryLater } from '../protocol/problems.ts';

/** What a client is told when the store cannot take its events now: 503, and when to try again (design 2). */

export function storageBusy(): Problem {
  const sentence = 'The store is locked by another program. Nothing was stored; send the same request again.';
  return retryLater('storage_busy', sentence, RETRY_AFTER_S.busy);
}

export function storageFull(): Problem {
  const sentence = 'The disk is full. Nothing was stored; send the same request again.';
  return retryLater('storage_full', sentence, RETRY_AFTER_S.full);
}

export function storageFailed(): Problem {
  const sentence = 'The store has failed and is being restarted. Send the same request again.';
  return retryLater('storage_failed', sentence, RETRY_AFTER_S.full);
}

export function overloaded(): Problem {
  const sentence = 'Too many requests are waiting. Nothing was stored; send the same request again.';
  return retryLater('overloaded', sentence, RETRY_AFTER_S.busy);
}

export function shuttingDown(): Problem {
  const sentence = 'This box is restarting. Nothing was stored; send the same request again.';
  return retryLater('shutting_down', sentence, RETRY_AFTER_S.shutdown);
}

export function logHeld(): Problem {
  const sentence =
    'Another program has been reading for so long that nothing more can be stored. Send the same request again.';
  return retryLater('storage_busy', sentence, RETRY_AFTER_S.full);
}
