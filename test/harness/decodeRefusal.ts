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

/** @returns JSON text of a value in which Infinity replaces a number that no double holds. */
export function jsonOf(sent: unknown): string {
  const mark = '\u0001too large';
  const marked = JSON.stringify(sent, (_, value) => {
    return typeof value === 'number' && !Number.isFinite(value) ? (value < 0 ? `-${mark}` : mark) : value;
  });
  return marked.replace(/"(-?)\\u0001too large"/g, '$11e400');
}
