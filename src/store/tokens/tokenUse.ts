import { TRACKED_ADDRESSES } from '../../base/limits.ts';

/** A token that ends, and who would be rejected then. */
export interface OldToken {
  readonly id: number;
  readonly ends_in_s: number;
  /** Addresses. */
  readonly clients: readonly string[];
}

/** For so long after its last use, an address with a new token may still be that of two cameras, one of which has the old one. */
const SHARED_MS = 120_000;

/** The addresses that still use a token that ends: kept in memory, because cameras send all the time. */
export class OldTokenUse {
  readonly #uses = new Map<string, { readonly id: number; readonly endsAt: number; readonly at: number }>();

  /** @param endsAt infinite for a token that does not end. @param now of the monotonic clock, in milliseconds. */
  note(client: string, id: number, endsAt: number, now: number): void {
    const use = this.#uses.get(client);
    if (!Number.isFinite(endsAt)) {
      if (use !== undefined && now - use.at > SHARED_MS) this.#uses.delete(client);
    } else if (use !== undefined || this.#uses.size < TRACKED_ADDRESSES)
      this.#uses.set(client, { id, endsAt, at: now });
  }

  /** @returns the tokens that are in use and end. */
  report(now: number): OldToken[] {
    const uses = [...this.#uses].filter(([, { endsAt }]) => endsAt > now);
    const byToken = Map.groupBy(uses, ([, { id }]) => id);
    return [...byToken].map(([id, uses]) => ({
      id,
      ends_in_s: Math.round((uses[0]![1].endsAt - now) / 1_000),
      clients: uses.map(([client]) => client),
    }));
  }
}
