import { createHmac } from 'node:crypto';
import type { CopiedErasure } from '../../src/fleet/copy/boxFile.ts';

const KEY = Buffer.alloc(16, 5);

/** The entry of a ledger, as box.json has it. @param before of the player's events, in milliseconds since 1970-01-01T00:00:00Z. */
export function erasure(player: string, before: number): CopiedErasure {
  return {
    key: KEY.toString('hex'),
    player: createHmac('sha256', KEY).update(player).digest('hex'),
    before_ns: `${before}000000`,
    at_ms: before,
  };
}

export const ERASED_ANNA = erasure('anna-17', Date.UTC(2027, 0, 1));
