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

interface Use {
  id: number;
  endsAt: number;
  oldAt: number;
  /** When the address last used a token that does not end. */
  newAt: number;
}

/** The addresses that still use a token that ends: kept in memory, because cameras send all the time. */
export class OldTokenUse {
  readonly #uses = new Map<string, Use>();

  /** @param endsAt infinite for a token that does not end. @param now of the monotonic clock, in milliseconds. */
  note(client: string, id: number, endsAt: number, now: number): void {
    const use = this.#uses.get(client);
    if (!Number.isFinite(endsAt)) {
      if (use !== undefined) use.newAt = now;
    } else if (use !== undefined) Object.assign(use, { id, endsAt, oldAt: now });
    else if (this.#uses.size < TRACKED_ADDRESSES)
      this.#uses.set(client, { id, endsAt, oldAt: now, newAt: Number.NEGATIVE_INFINITY });
  }

  /** @returns the tokens that are in use and end, and forgets clients that have changed to another one. */
  report(now: number): OldToken[] {
    for (const [client, { endsAt, oldAt, newAt }] of this.#uses) {
      if (endsAt <= now || (newAt > oldAt && now - oldAt > SHARED_MS)) this.#uses.delete(client);
    }
    const byToken = Map.groupBy(this.#uses, ([, { id }]) => id);
    return [...byToken].map(([id, uses]) => ({
      id,
      ends_in_s: Math.round((uses[0]![1].endsAt - now) / 1_000),
      clients: uses.map(([client]) => client),
    }));
  }
}
