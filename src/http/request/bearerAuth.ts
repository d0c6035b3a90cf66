import type { IncomingMessage } from 'node:http';
import { UNAUTHORIZED_RETRY_S } from '../../base/limits.ts';
import { Problem } from '../../protocol/errors.ts';

/** Whoever knows the venue's tokens. */
export interface Tokens {
  accepts(token: string, from: string): boolean;
  /** @returns why a token was not accepted, for the log alone. */
  whyNot(token: string): string;
}

const CREDENTIALS = /^bearer +([\w.~+/-]+=*)$/i;
const REALM = 'Bearer realm="courtd"';
const WRONG = `${REALM}, error="invalid_token"`;
const FORM = '"Authorization: Bearer TOKEN"';

/**
 * The venue's shared token (spec 5; RFC 6750, sections 2.1 and 3). Runs before anything else is said.
 * @param from the client's address, remembered with the token's last use.
 * @throws {Problem} 401. Whether a wrong token was ever one of this venue's is for the operator, and only in the log.
 */
export function authenticate(req: IncomingMessage, tokens: Tokens, from: string): void {
  const header = req.headers.authorization;
  if (header === undefined) {
    const sentence = `There is no token: keep the events, and send them with ${FORM}, the token of this venue.`;
    throw unauthorized(sentence, REALM, 'no token');
  }
  // Node keeps the first of two headers and drops the other without a word.
  const token = countOf(req, 'authorization') === 1 ? CREDENTIALS.exec(header)?.[1] : undefined;
  if (token === undefined) {
    const sentence = `The Authorization header is malformed: keep the events, and send it once, as ${FORM}.`;
    throw unauthorized(sentence, WRONG, 'malformed header');
  }
  if (tokens.accepts(token, from)) return;
  const sentence =
    'The token is not valid here (any more): keep the events, and ask the operator of this box for the current one.';
  throw unauthorized(sentence, WRONG, tokens.whyNot(token));
}

function unauthorized(sentence: string, challenge: string, reason: string): Problem {
  const headers = { 'WWW-Authenticate': challenge, 'Retry-After': String(UNAUTHORIZED_RETRY_S) };
  return new Problem('unauthorized', sentence, {}, headers, { reason });
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
