import { timingSafeEqual } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import { unavailable } from '../../protocol/errors.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { findToken, hashOf, REVOKED_MS } from './tokens.ts';
import { type OldToken, OldTokenUse } from './tokenUse.ts';

/** Milliseconds between writes of a token's last use: each is a commit, and wears the flash. */
const TOKEN_USE_WRITE_MS = 60_000;

type Use = { readonly atMs: number; readonly from: string };

/** A token that is not revoked, as a presented one is compared with it. */
interface KnownToken {
  readonly id: number;
  readonly hash: Buffer;
  readonly expires_ms: number | null;
  /** On the monotonic clock: setting the clock of the box neither ends nor prolongs a grace. */
  readonly endsAt: number;
}

/** The daemon's view of the tokens. A change by another process applies from the next request on. */
export class TokenVerifier {
  readonly #db: Database;
  readonly #fatal: (error: unknown) => void;
  /** Changes when another connection commits, and costs a look at shared memory. */
  readonly #version: Statement<[], number>;
  #seenVersion: number | undefined;
  readonly #uses = new Map<number, Use>();
  readonly #oldUse = new OldTokenUse();
  /** After years of rotations one or two, because those that have ended are revoked. Every request is compared with all. */
  #tokens: readonly KnownToken[] = [];
  #isFresh = false;
  /** The last token that was accepted, and its hash: of most requests. */
  #last: { readonly token: Buffer; readonly hash: Buffer } | undefined;
  #usesWrittenAt = Number.NEGATIVE_INFINITY;

  /** @param fatal called on an I/O error: nothing can be guaranteed any more (errors.ts). */
  constructor(db: Database, fatal: (error: unknown) => void) {
    this.#db = db;
    this.#fatal = fatal;
    this.#version = db.prepare<[], number>('PRAGMA data_version').pluck();
  }

  /** @returns whether any token could be accepted now; true if that cannot be read. */
  get isOpen(): boolean {
    try {
      return this.#current().some(({ endsAt }) => endsAt > performance.now());
    } catch {
      return true;
    }
  }

  /**
   * @returns whether `token` is valid; its use is then recorded.
   * @throws {Problem} 503 if the tokens cannot be read.
   */
  accepts(token: string, from: string): boolean {
    const text = Buffer.from(token);
    // As below, in constant time.
    const last = this.#last;
    const isLast = last?.token.length === text.length && timingSafeEqual(last.token, text);
    const hash = isLast ? last.hash : hashOf(token);
    // All are compared, each in constant time.
    const [known] = this.#current().filter((one) => timingSafeEqual(one.hash, hash));
    const now = performance.now();
    if (known === undefined || known.endsAt <= now) return false;
    if (!isLast) this.#last = { token: text, hash };
    this.#uses.set(known.id, { atMs: Date.now(), from });
    this.#oldUse.note(from, known.id, known.endsAt, now);
    return true;
  }

  /** @returns the tokens that end, and are still used. */
  get old(): OldToken[] {
    return this.#oldUse.report(performance.now());
  }

  /**
   * @returns why `token` is not accepted, for the log.
   * @throws {Problem} as `accepts` does.
   */
  whyInvalid(token: string): string {
    const known = this.#guarded(() => findToken(this.#db, token));
    return known === undefined ? 'unknown token' : `token ${known.id} has ended`;
  }

  /**
   * Writes the last uses, and which tokens have expired, unless it has done so recently. Call it inside a transaction. The uses stay
   * in memory, and are written again if it fails.
   * @param atMostEveryMs minimum interval.
   */
  writeUses(atMostEveryMs = TOKEN_USE_WRITE_MS): void {
    const now = performance.now();
    if (this.#uses.size === 0 || now - this.#usesWrittenAt < atMostEveryMs) return;
    // What has been written already changes no page.
    const write = this.#db.prepare<[Use & { id: number }]>(
      'UPDATE token SET last_used_ms = @atMs, last_used_from = @from WHERE id = @id AND last_used_ms IS NOT @atMs',
    );
    // As if it had been revoked at its end: a start with a clock that is behind would find it valid again (tokens.ts).
    const end = this.#db.prepare(
      'UPDATE token SET revoked_ms = expires_ms WHERE id = ? AND revoked_ms IS NULL',
    );
    for (const [id, use] of this.#uses) write.run({ ...use, id });
    for (const { id, endsAt } of this.#tokens) if (Number.isFinite(endsAt) && endsAt <= now) end.run(id);
    this.#usesWrittenAt = now;
  }

  /**
   * Asks the database once per turn of the event loop: requests that have been read by then were sent earlier.
   * @throws {Problem} 503 if the tokens cannot be read: without them no request can be answered 401 either.
   */
  #current(): readonly KnownToken[] {
    if (this.#isFresh) return this.#tokens;
    this.#guarded(() => {
      const version = this.#version.get();
      if (version !== this.#seenVersion) this.#read();
      this.#seenVersion = version;
    });
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
    return this.#tokens;
  }

  /** @throws {Problem} 503 if the database cannot be read. */
  #guarded<Answer>(ask: () => Answer): Answer {
    try {
      return ask();
    } catch (error) {
      const kind = failureKind(error);
      if (kind === 'busy') throw unavailable('busy');
      // Every request depends on the tokens: damage is reported like an I/O error, and the next start looks for it.
      if (kind !== 'fatal' && kind !== 'damaged') throw error;
      this.#fatal(error);
      throw unavailable('failed');
    }
  }

  /** A token that was known with the same end keeps it; for the others the wall clock is read, once. */
  #read(): void {
    const read = this.#db.prepare<[], Omit<KnownToken, 'endsAt'> & { newest_ms: number }>(`
      SELECT id, hash, expires_ms, (SELECT max(created_ms) FROM token) AS newest_ms FROM token WHERE ${REVOKED_MS} IS NULL`);
    this.#tokens = read.all().map((token) => {
      const isSame = (known: KnownToken) => known.id === token.id && known.expires_ms === token.expires_ms;
      // It cannot be earlier than that: on a box that starts years behind, a grace would last for years.
      const nowMs = Math.max(Date.now(), token.newest_ms);
      const leftMs = (token.expires_ms ?? Number.POSITIVE_INFINITY) - nowMs;
      // Only the wall clock says that it had expired before: that is not recorded.
      const endsAt = leftMs > 0 ? performance.now() + leftMs : Number.NEGATIVE_INFINITY;
      return this.#tokens.find(isSame) ?? { ...token, endsAt };
    });
  }
}
