import type { Database, Statement } from 'better-sqlite3';
import { TOKEN_USE_WRITE_MS } from '../protocol/limits.ts';
import { Problem } from '../protocol/problems.ts';
import { failureKind } from './failure.ts';
import { refusal } from './refusals.ts';
import { matchToken, type TokenHash, tokenHashes } from './tokens.ts';

interface Use {
  readonly atMs: number;
  readonly from: string;
}

/** A token with the end of its grace on the monotonic clock: setting the box's clock neither ends nor prolongs it. */
interface LiveToken extends TokenHash {
  readonly endsAt: number;
}

/** The daemon's view of the tokens: what another process changed counts from the next request on (design 3). */
export class TokenGuard {
  readonly #db: Database;
  readonly #fatal: (error: unknown) => void;
  readonly #dataVersion: Statement<[], number>;
  readonly #writeUse: Statement<[number, string, number]>;
  readonly #uses = new Map<number, Use>();
  #tokens: readonly LiveToken[] = [];
  #seenVersion: number | undefined;
  #isFresh = false;
  #isFailed = false;
  #writtenAt = Number.NEGATIVE_INFINITY;

  /** @param fatal is told of an I/O error, once: nothing can be promised any more (failure.ts). */
  constructor(db: Database, fatal: (error: unknown) => void) {
    this.#db = db;
    this.#fatal = fatal;
    // Changes when another connection commits, and costs a look at shared memory.
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#writeUse = db.prepare('UPDATE token SET last_used_ms = ?, last_used_from = ? WHERE id = ?');
  }

  /** @returns whether any token could be accepted at all. */
  get isOpen(): boolean {
    try {
      return this.#current().some((token) => token.endsAt > performance.now());
    } catch (error) {
      // Not known: whatever it is has been told.
      if (error instanceof Problem) return true;
      throw error;
    }
  }

  /** @returns whether `token` is one of the venue's; if so, its use is remembered. */
  accepts(token: string, from: string): boolean {
    const known = matchToken(this.#current(), token);
    if (known === undefined || known.endsAt <= performance.now()) return false;
    this.#uses.set(known.id, { atMs: Date.now(), from });
    return true;
  }

  /** Writes the last uses, if it has not done so for a while; within a transaction that is about to be committed. */
  writeUses(atMostEveryMs = TOKEN_USE_WRITE_MS): void {
    const now = performance.now();
    if (this.#uses.size === 0 || now - this.#writtenAt < atMostEveryMs) return;
    for (const [id, use] of this.#uses) this.#writeUse.run(use.atMs, use.from, id);
    this.#uses.clear();
    this.#writtenAt = now;
  }

  /**
   * Asks once in a turn of the event loop: what has been read from the network by then was sent before.
   * @throws {Problem} 503 where the tokens cannot be read: without them nobody can be told 401 either.
   */
  #current(): readonly LiveToken[] {
    if (this.#isFailed) throw refusal('failed');
    if (this.#isFresh) return this.#tokens;
    try {
      const version = this.#dataVersion.get();
      if (version !== this.#seenVersion) this.#tokens = this.#read();
      this.#seenVersion = version;
    } catch (error) {
      const kind = failureKind(error);
      if (kind === 'busy') throw refusal('busy');
      if (kind !== 'fatal') throw error;
      this.#isFailed = true;
      this.#fatal(error);
      throw refusal('failed');
    }
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
    return this.#tokens;
  }

  /** A token that was known with the same end keeps it; the wall clock is asked about the others, once. */
  #read(): LiveToken[] {
    const now = performance.now();
    const known = new Map(this.#tokens.map((token) => [`${token.id} ${token.expires_ms}`, token.endsAt]));
    const nowMs = Date.now();
    return tokenHashes(this.#db).map((token) => {
      const { id, expires_ms } = token;
      const leftMs = expires_ms === null ? Number.POSITIVE_INFINITY : expires_ms - nowMs;
      return { ...token, endsAt: known.get(`${id} ${expires_ms}`) ?? now + leftMs };
    });
  }
}
