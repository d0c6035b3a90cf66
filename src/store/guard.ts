import type { Database, Statement } from 'better-sqlite3';
import { TOKEN_USE_WRITE_MS } from '../protocol/limits.ts';
import { matchToken, type TokenHash, tokenHashes } from './tokens.ts';

interface Use {
  readonly atMs: number;
  readonly from: string;
}

/** The daemon's view of the tokens: what another process changed counts from the next request on (design 3). */
export class TokenGuard {
  readonly #db: Database;
  readonly #dataVersion: Statement<[], number>;
  readonly #writeUse: Statement<[number, string, number]>;
  readonly #uses = new Map<number, Use>();
  #hashes: readonly TokenHash[] = [];
  #seenVersion: number | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
    // Changes when another connection commits, and costs a look at shared memory.
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#writeUse = db.prepare('UPDATE token SET last_used_ms = ?, last_used_from = ? WHERE id = ?');
  }

  /** @returns whether any token could be accepted at all. */
  get isOpen(): boolean {
    this.#refresh();
    return this.#hashes.some((known) => known.expires_ms === null || known.expires_ms > Date.now());
  }

  /** @returns whether `token` is one of the venue's; if so, its use is remembered. */
  accepts(token: string, from: string): boolean {
    this.#refresh();
    const now = Date.now();
    const id = matchToken(this.#hashes, token, now);
    if (id === undefined) return false;
    this.#uses.set(id, { atMs: now, from });
    return true;
  }

  /** Writes the last uses, at most once a minute; call it in a transaction that is about to be committed. */
  writeUses(): void {
    const now = performance.now();
    if (this.#uses.size === 0 || now - this.#writtenAt < TOKEN_USE_WRITE_MS) return;
    for (const [id, use] of this.#uses) this.#writeUse.run(use.atMs, use.from, id);
    this.#uses.clear();
    this.#writtenAt = now;
  }

  #refresh(): void {
    const version = this.#dataVersion.get();
    if (version === this.#seenVersion) return;
    this.#hashes = tokenHashes(this.#db, Date.now());
    this.#seenVersion = version;
  }
}
