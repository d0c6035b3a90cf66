import type { IncomingMessage } from 'node:http';
import { UNAUTHORIZED_RETRY_S } from '../base/limits.ts';
import { Problem } from '../protocol/errors.ts';

/** Verifies the venue's tokens. */
export interface Tokens {
  /** @param from the client's address, recorded with the token's last use. */
  accepts(token: string, from: string): boolean;
  /** @returns why a token was not accepted: for the log only. */
  whyInvalid(token: string): string;
}

/** RFC 6750, section 2.1. */
const CREDENTIALS = /^bearer +([\w.~+/-]+=*)$/i;
const REALM = 'Bearer realm="courtd"';
export const INVALID_TOKEN = `${REALM}, error="invalid_token"`;
const FORM = '"Authorization: Bearer TOKEN"';

/**
 * Checks the venue's shared bearer token (spec 5; RFC 6750). Runs before anything is said about the request itself.
 * @param from the client's address.
 * @throws {Problem} 401 unauthorized, with a challenge (RFC 6750, section 3) and Retry-After. Whether a token was ever valid here
 * is for the operator: only the log says so.
 */
export function authenticate(req: IncomingMessage, tokens: Tokens, from: string): void {
  const header = req.headers.authorization;
  if (header === undefined) {
    const sentence = `There is no token: keep the events, and send them with ${FORM}, using the token of this venue.`;
    throw unauthorized(sentence, REALM, 'no token');
  }
  // Of two Authorization headers, Node silently drops the second.
  const token = countOf(req, 'authorization') === 1 ? CREDENTIALS.exec(header)?.[1] : undefined;
  if (token === undefined) {
    const sentence = `The Authorization header is malformed: keep the events, and send exactly one, as ${FORM}.`;
    throw unauthorized(sentence, INVALID_TOKEN, 'malformed header');
  }
  if (tokens.accepts(token, from)) return;
  const sentence =
    'The token is unknown, expired or revoked: keep the events, and ask the operator of this box for the current token.';
  throw unauthorized(sentence, INVALID_TOKEN, tokens.whyInvalid(token));
}

/** @returns the token that a request carries, valid or not; undefined if there is none. */
export function shownToken(req: IncomingMessage): string | undefined {
  return CREDENTIALS.exec(req.headers.authorization ?? '')?.[1];
}

function unauthorized(sentence: string, challenge: string, reason: string): Problem {
  const headers = { 'WWW-Authenticate': challenge, 'Retry-After': String(UNAUTHORIZED_RETRY_S) };
  return new Problem('unauthorized', sentence, {}, headers, { reason });
}

/** @param name in lower case. @returns how many header fields of this name were sent. */
export function countOf(req: IncomingMessage, name: string): number {
  const { rawHeaders } = req;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const field = rawHeaders[i]!;
    if (field.length === name.length && field.toLowerCase() === name) count++;
  }
  return count;
}
