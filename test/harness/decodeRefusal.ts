import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Problem } from '../../src/protocol/errors.ts';
import type { EventRules } from '../../src/protocol/validate.ts';

/** @returns the problem that a body is refused with; fails if there is none. */
export function refusal(body: Buffer | string, rules: EventRules = {}): Problem {
  try {
    decodeBatch(Buffer.from(body), rules);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}
