import { hash, randomBytes } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { TOKEN_BYTES } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isTime } from '../../base/units.ts';
import { withReserve } from '../db/diskReserve.ts';
import { rewriteWal } from '../db/rewriteWal.ts';
import { damage } from '../db/sqliteErrors.ts';

/**
 * The venue's shared tokens (spec 5). Only their SHA-256 is stored. The WAL is rewritten before a change: the sync of another command
 * may have failed while the daemon runs, which learns of that only at its next commit.
 */

/** Times are milliseconds since 1970-01-01T00:00:00Z. */
export interface Token {
  readonly id: number;
  readonly created_ms: number;
  readonly expires_ms: number | null;
  readonly revoked_ms: number | null;
  readonly last_used_ms: number | null;
  readonly last_used_from: string | null;
}

/** A retiring token is valid until its grace ends. A revocation after its end does not change the state. */
export function tokenState(token: Token, nowMs: number) {
  const { expires_ms, revoked_ms } = token;
  if (revoked_ms !== null) return expires_ms !== null && expires_ms <= revoked_ms ? 'expired' : 'revoked';
  if (expires_ms === null) return 'active';
  return expires_ms > nowMs ? 'retiring' : 'expired';
}

/** Whether requests with it are accepted. */
export function isValid(token: Token, nowMs: number): boolean {
  return ['active', 'retiring'].includes(tokenState(token, nowMs));
}

/** @returns when the token ends or ended; null if it has no end. */
export function tokenEndMs({ expires_ms, revoked_ms }: Token): number | null {
  if (expires_ms === null || revoked_ms === null) return expires_ms ?? revoked_ms;
  return Math.min(expires_ms, revoked_ms);
}

/**
 * Creates a token; the older ones end after the grace. A rotation never lengthens an earlier grace, and a
 * grace of 0 ends all older tokens immediately.
 * @param graceS seconds.
 * @returns the token, 32 random bytes as base64url which cannot be recovered, and how many older ones were still valid.
 * @throws {SqliteError} if the database is locked, or the disk is full and the reserve used up.
 */
export function rotateToken(db: Database, graceS: number, nowMs: number, given?: string) {
  const token = given ?? randomBytes(TOKEN_BYTES).toString('base64url');
  // A token that has ended stays ended, even if the clock is set back: by its time alone it would be valid again.
  const retire = db.prepare(`
    UPDATE token SET expires_ms = min(ifnull(expires_ms, @endMs), @endMs), revoked_ms = iif(@graceS = 0, @nowMs, NULL)
     WHERE revoked_ms IS NULL AND ifnull(expires_ms > @nowMs, 1)`);
  const add = db.prepare('INSERT INTO token (hash, created_ms) VALUES (?, ?)');
  const rotate = db.transaction(() => {
    const older = retire.run({ graceS, nowMs, endMs: nowMs + graceS * 1000 }).changes;
    add.run(hashOf(token), nowMs);
    return older;
  });
  rewriteWal(db);
  return { token, older: withReserve(DataDirectory.of(db.name), () => rotate.immediate()) };
}

/**
 * Ends a token immediately. It is recorded even if the token has ended: to a daemon whose clock was set meanwhile it may be valid
 * (tokenVerifier.ts). @returns the token as it was.
 * @throws {OperatorError} if there is no such token.
 */
export function revokeToken(db: Database, id: number, nowMs: number): Token {
  const token = listTokens(db).find((token) => token.id === id);
  if (token === undefined)
    throw new OperatorError(`There is no token ${id}. "courtd token list" shows them.`);
  const revoke = db.prepare('UPDATE token SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?');
  rewriteWal(db);
  withReserve(DataDirectory.of(db.name), () => revoke.run(nowMs, id));
  return token;
}

/** SQL: when a token was revoked. One that has lost its hash to damage is valid no more. */
export const REVOKED_MS = 'iif(octet_length(hash) = 32, revoked_ms, ifnull(revoked_ms, created_ms))';
const COLUMNS = `id, created_ms, expires_ms, ${REVOKED_MS} AS revoked_ms, last_used_ms, last_used_from`;

/** @returns all tokens, in order of creation. @throws {SqliteError} */
export function listTokens(db: Database): Token[] {
  const tokens = db.prepare<[], Token>(`SELECT ${COLUMNS} FROM token ORDER BY id`).all();
  const timesOf = ({ created_ms, expires_ms, revoked_ms, last_used_ms }: Token) =>
    [created_ms, expires_ms, revoked_ms, last_used_ms].filter((ms) => ms !== null);
  if (!tokens.flatMap(timesOf).every(isTime)) throw damage('token');
  return tokens;
}

/**
 * Finds any token that ever existed. That is not in constant time: it may reveal bits of the SHA-256 of a token, from which nobody
 * derives 32 random bytes.
 */
export function findToken(db: Database, token: string): Token | undefined {
  return db.prepare<[Buffer], Token>(`SELECT ${COLUMNS} FROM token WHERE hash = ?`).get(hashOf(token));
}

/** @returns the SHA-256 of a token. */
export function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
