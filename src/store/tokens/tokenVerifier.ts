import type { Database, Statement } from 'better-sqlite3';
import { TOKEN_USE_WRITE_MS } from '../../base/limits.ts';
import { Problem } from '../../protocol/errors.ts';
import { refusal } from '../../protocol/unavailable.ts';
import { failureKind } from '../sqlite/errors.ts';
import {
  matchToken,
  newestCreationMs,
  type Token,
  type TokenHash,
  tokenEndMs,
  tokenFinder,
  tokenHashes,
  tokenState,
} from './tokens.ts';

interface Use {
  readonly atMs: number;
  readonly from: string;
}

/** A token that is not revoked, with the end of its grace on the monotonic clock: setting the box's clock neither ends nor prolongs it. */
interface TimedToken extends TokenHash {
  readonly endsAt: number;
}

/** The daemon's view of the tokens: what another process changed counts from the next request on (design 3). */
export class TokenVerifier {
  readonly #db: Database;
  readonly #fatal: (error: unknown) => void;
  readonly #dataVersion: Statement<[], number>;
  readonly #writeUse: Statement<[Use & { id: number }]>;
  readonly #writeEnd: Statement<[number]>;
  readonly #uses = new Map<number, Use>();
  readonly #find: (token: string) => Token | undefined;
  #tokens: readonly TimedToken[] = [];
  /** Those that had not ended when they were read: of years of rotations one or two, and every request is compared with them. */
  #unexpired: readonly TimedToken[] = [];
  #seenVersion: number | undefined;
  #isFresh = false;
  #isFailed = false;
  #usesWrittenAt = Number.NEGATIVE_INFINITY;

  /** @param fatal is told of an I/O error, once: nothing can be promised any more (errors.ts). */
  constructor(db: Database, fatal: (error: unknown) => void) {
    this.#db = db;
    this.#fatal = fatal;
    // Changes when another connection commits, and costs a look at shared memory.
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
    // Nothing where it is written already: no page is changed for that.
    this.#writeUse = db.prepare(
      'UPDATE token SET last_used_ms = @atMs, last_used_from = @from WHERE id = @id AND last_used_ms IS NOT @atMs',
    );
    // As if it had been revoked then: a start with a clock that is behind would have it live again (tokens.ts).
    this.#writeEnd = db.prepare(
      'UPDATE token SET revoked_ms = expires_ms WHERE id = ? AND revoked_ms IS NULL',
    );
    this.#find = tokenFinder(db);
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

  /**
   * @returns why `token` is not accepted, for the log.
   * @throws {Problem} as `accepts` does.
   */
  whyNot(token: string): string {
    const known = this.#guarded(() => this.#find(token));
    const endMs = known && tokenEndMs(known);
    if (known === undefined || endMs == null) return 'unknown token';
    const how = tokenState(known, Date.now()) === 'revoked' ? 'was revoked' : 'expired';
    return `token ${known.id} ${how} at ${new Date(endMs).toISOString()}`;
  }

  /**
   * Writes the last uses, and which tokens have ended, if it has not done so for a while; within a transaction that is about to be
   * committed. They are kept, to be written again should it fail.
   */
  writeUses(atMostEveryMs = TOKEN_USE_WRITE_MS): void {
    const now = performance.now();
    if (this.#uses.size === 0 || now - this.#usesWrittenAt < atMostEveryMs) return;
    for (const [id, use] of this.#uses) this.#writeUse.run({ ...use, id });
    for (const { id, endsAt } of this.#tokens) {
      if (Number.isFinite(endsAt) && endsAt <= now) this.#writeEnd.run(id);
    }
    this.#usesWrittenAt = now;
  }

  /**
   * Asks once in a turn of the event loop: what has been read from the network by then was sent before.
   * @throws {Problem} 503 where the tokens cannot be read: without them nobody can be told 401 either.
   */
  #current(): readonly TimedToken[] {
    if (this.#isFailed) throw refusal('failed');
    if (this.#isFresh) return this.#unexpired;
    this.#guarded(() => {
      const version = this.#dataVersion.get();
      if (version !== this.#seenVersion) this.#read();
      this.#seenVersion = version;
    });
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
    return this.#unexpired;
  }

  /** @throws {Problem} 503 where the database does not answer. */
  #guarded<Answer>(ask: () => Answer): Answer {
    try {
      return ask();
    } catch (error) {
      const kind = failureKind(error);
      if (kind === 'busy') throw refusal('busy');
      // Every request rests on the tokens: what keeps them from being read is told, and looked for at the next start.
      if (kind !== 'fatal' && kind !== 'damaged') throw error;
      this.#isFailed = true;
      this.#fatal(error);
      throw refusal('failed');
    }
  }

  /** A token that was known with the same end keeps it; the wall clock is asked about the others, once. */
  #read(): void {
    const now = performance.now();
    const known = new Map(this.#tokens.map((token) => [`${token.id} ${token.expires_ms}`, token.endsAt]));
    const hashes = tokenHashes(this.#db);
    // It is not earlier than that: a box without a battery may start years behind, and a grace would last for as long.
    const nowMs = Math.max(Date.now(), newestCreationMs(this.#db));
    this.#tokens = hashes.map((token) => {
      const { id, expires_ms } = token;
      const leftMs = expires_ms === null ? Number.POSITIVE_INFINITY : expires_ms - nowMs;
      // Whether it had ended before, the wall clock alone says: that is not noted.
      const endsAt = leftMs > 0 ? now + leftMs : Number.NEGATIVE_INFINITY;
      return { ...token, endsAt: known.get(`${id} ${expires_ms}`) ?? endsAt };
    });
    this.#unexpired = this.#tokens.filter(({ endsAt }) => endsAt > now);
  }
}
