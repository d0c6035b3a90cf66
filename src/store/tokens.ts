import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { TOKEN_BYTES } from '../protocol/limits.ts';
import { StoreError } from './failure.ts';

/** The venue's shared tokens (spec 5, design 3). Only their SHA-256 is stored: a token is shown once, when it is made. */

export type TokenState = 'active' | 'retiring' | 'expired' | 'revoked';

/** Times are milliseconds since 1970-01-01T00:00:00Z. */
export interface Token {
  readonly id: number;
  readonly created_ms: number;
  readonly expires_ms: number | null;
  readonly revoked_ms: number | null;
  readonly last_used_ms: number | null;
  readonly last_used_from: string | null;
}

export interface TokenHash {
  readonly id: number;
  readonly hash: Buffer;
  readonly expires_ms: number | null;
}

export function tokenState(token: Token, nowMs: number): TokenState {
  if (token.revoked_ms !== null) return 'revoked';
  if (token.expires_ms === null) return 'active';
  return token.expires_ms > nowMs ? 'retiring' : 'expired';
}

/** A token that has just been made. */
export interface Rotation {
  /** 32 random bytes as base64url; it cannot be had again. */
  readonly token: string;
  /** Older tokens that still worked. */
  readonly older: number;
  /** Makes it not have happened, where nobody got to see the token. */
  undo(): void;
}

/**
 * Makes a new token; the older ones end after the grace. A rotation never lengthens an earlier grace, and a grace
 * of 0 ends all of them at once.
 * @param graceS seconds.
 */
export function rotateToken(db: Database, graceS: number, nowMs: number): Rotation {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const expiresMs = nowMs + graceS * 1000;
  const setEnd = db.prepare('UPDATE token SET expires_ms = ? WHERE id = ?');
  const add = db.prepare('INSERT INTO token (hash, created_ms) VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM token WHERE id = ?');
  const rotate = db.transaction(() => {
    const before = listTokens(db).filter((old) => ['active', 'retiring'].includes(tokenState(old, nowMs)));
    for (const old of before) setEnd.run(Math.min(old.expires_ms ?? expiresMs, expiresMs), old.id);
    return { before, made: add.run(hashOf(token), nowMs).lastInsertRowid };
  });
  const { before, made } = rotate.immediate();
  const undo = db.transaction(() => {
    for (const old of before) setEnd.run(old.expires_ms, old.id);
    remove.run(made);
  });
  return { token, older: before.length, undo: () => undo.immediate() };
}

/** @throws {StoreError} where there is no such token. */
export function revokeToken(db: Database, id: number, nowMs: number): void {
  const revoke = db.prepare('UPDATE token SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?');
  if (revoke.run(nowMs, id).changes === 0) {
    throw new StoreError(`There is no token ${id}: "courtd token list" shows them.`);
  }
}

export function listTokens(db: Database): Token[] {
  const columns = 'id, created_ms, expires_ms, revoked_ms, last_used_ms, last_used_from';
  return db.prepare<[], Token>(`SELECT ${columns} FROM token ORDER BY id`).all();
}

/** @returns the hashes of all tokens that have not been revoked, expired ones too. */
export function tokenHashes(db: Database): TokenHash[] {
  return db.prepare<[], TokenHash>('SELECT id, hash, expires_ms FROM token WHERE revoked_ms IS NULL').all();
}

/** @returns the one that `token` is, compared in constant time, or undefined. */
export function matchToken<Known extends TokenHash>(
  hashes: readonly Known[],
  token: string,
): Known | undefined {
  const presented = hashOf(token);
  let match: Known | undefined;
  for (const known of hashes) {
    if (timingSafeEqual(known.hash, presented)) match = known;
  }
  return match;
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
