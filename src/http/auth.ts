import type { IncomingMessage } from 'node:http';
import { Problem } from '../protocol/problems.ts';

/** Whoever knows the venue's tokens. */
export interface Tokens {
  accepts(token: string, from: string): boolean;
}

const CREDENTIALS = /^bearer +([\w.~+/-]+=*)$/i;
const REALM = 'Bearer realm="courtd"';

/**
 * The venue's shared token (spec 5; RFC 6750, sections 2.1 and 3). Runs before anything else is said.
 * @param from the client's address, remembered with the token's last use.
 * @throws {Problem} 401.
 */
export function authenticate(req: IncomingMessage, tokens: Tokens, from: string): void {
  const header = req.headers.authorization;
  if (header === undefined) {
    throw unauthorized('No token: send "Authorization: Bearer TOKEN" with the token of this venue.', REALM);
  }
  // Node keeps the first of two headers and drops the other without a word.
  const token = countOf(req, 'authorization') === 1 ? CREDENTIALS.exec(header)?.[1] : undefined;
  if (token !== undefined && tokens.accepts(token, from)) return;
  const sentence =
    token === undefined
      ? 'The Authorization header is malformed: send it once, as "Authorization: Bearer TOKEN".'
      : 'The token is not valid here (any more): ask whoever set up this box for the current one.';
  throw unauthorized(sentence, `${REALM}, error="invalid_token"`);
}

function unauthorized(sentence: string, challenge: string): Problem {
  return new Problem('unauthorized', sentence, {}, { 'WWW-Authenticate': challenge });
}

/** @returns how often a header field was sent. */
export function countOf(req: IncomingMessage, name: string): number {
  const { rawHeaders } = req;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const field = rawHeaders[i]!;
    if (field.length === name.length && field.toLowerCase() === name) count++;
  }
  return count;
}
